# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""crictl and ctr in the places of RKE2, k3s and MicroK8s, by stand-ins in a folder that is the root."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._iproute import discover, runtimes

PODS = {
    "items": [
        {
            "id": "8f9ec14c8c927",
            "metadata": {"name": "web-0", "namespace": "default"},
            "state": "SANDBOX_READY",
        }
    ]
}
# crictl, called with its configuration; anything else is an error, as without it.
CRICTL = """#!/bin/sh
[ "$1" = crictl ] && shift
[ "$1 $2" = "{option} {value}" ] || exit 1
case $3 in
pods) echo '{pods}' ;;
inspectp|inspect) echo '{{"info": {{"pid": 48095}}}}' ;;
esac
"""
CTR = """#!/bin/sh
[ "$1 $3 $4" = "--address --namespace k8s.io" ] || exit 1
case $5 in
containers) if [ "$8" = '{asked}' ]; then echo 8f9ec14c8c927; fi ;;
tasks) printf 'TASK             PID      STATUS\\n8f9ec14c8c927    48095    RUNNING\\n' ;;
esac
"""
FILTER = (
    'labels."io.cri-containerd.kind"=="sandbox",labels."io.kubernetes.pod.namespace"=="default",'
    'labels."io.kubernetes.pod.name"=="web-0"'
)
RKE2 = "var/lib/rancher/rke2"


@pytest.fixture
def host(monkeypatch, tmp_path):
    """Return what makes a file of a host whose root is a folder of the test."""
    monkeypatch.setattr(runtimes, "check_trusted", lambda path: None)
    for name in ("FOLDERS", "CONFIGURATIONS", "SOCKETS"):
        paths = tuple(str(tmp_path / path.lstrip("/")) for path in getattr(runtimes, name))
        monkeypatch.setattr(runtimes, name, paths)

    def add(name, text="", mode=0o644):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    return add


@pytest.mark.parametrize(
    ("program", "configuration", "option"),
    [
        ("usr/bin/crictl", "etc/crictl.yaml", "--config"),
        (f"{RKE2}/bin/crictl", f"{RKE2}/agent/etc/crictl.yaml", "--config"),
        ("usr/local/bin/k3s", "run/k3s/containerd/containerd.sock", "--runtime-endpoint"),
        ("usr/bin/crictl", "run/crio/crio.sock", "--runtime-endpoint"),
        ("usr/bin/crictl", "var/snap/microk8s/common/run/containerd.sock", "--runtime-endpoint"),
    ],
    ids=("kubeadm", "RKE2", "k3s", "OpenShift", "MicroK8s"),
)
@pytest.mark.parametrize("end", [{"pod": "default/web-0"}, {"container": "containerd:8f9e"}])
def test_crictl_is_found_with_its_configuration(host, program, configuration, option, end):
    value = str(host(configuration))
    value = value if option == "--config" else f"unix://{value}"
    host(program, CRICTL.format(option=option, value=value, pods=json.dumps(PODS)), 0o755)
    assert discover._process(end) == 48095


@pytest.mark.parametrize(
    "end", [{"pod": "default/web-0"}, {"container": "containerd:8f9ec14c8c927"}]
)
def test_ctr_does_without_crictl(host, end):
    host("var/snap/microk8s/common/run/containerd.sock")
    host("snap/microk8s/current/bin/ctr", CTR.format(asked=FILTER), 0o755)
    assert discover._process(end) == 48095


def test_a_pod_that_ctr_does_not_list(host):
    host("run/containerd/containerd.sock")
    host("usr/bin/ctr", CTR.format(asked=FILTER), 0o755)
    with pytest.raises(LabError, match="pod default/other: does not run on this node"):
        discover._process({"pod": "default/other"})


def test_without_both_the_message_names_the_other_ways(host):
    with pytest.raises(LabError, match="neither crictl nor ctr.* Or name the end by netns"):
        discover._process({"pod": "default/web-0"})


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_program_that_others_may_change_is_not_run(monkeypatch, tmp_path, mode):
    program = tmp_path / "crictl"
    program.write_text("#!/bin/sh\n")
    program.chmod(mode)
    monkeypatch.setattr(runtimes, "FOLDERS", (str(tmp_path),))
    with pytest.raises(LabError, match="is not run as root, since not root alone may change"):
        runtimes.crictl()


def test_a_program_of_another_user_is_not_run(tmp_path):
    program = tmp_path / "crictl"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    os.chown(program, 1000, 0)
    with pytest.raises(LabError, match="is not run as root"):
        runtimes.check_trusted(str(program))


def test_a_user_gives_programs_and_socket(host):
    program = host("opt/cri/crictl", "#!/bin/sh", 0o755)
    socket = host("opt/cri/cri.sock")
    host("etc/crictl.yaml")  # not the runtime of this socket
    chosen = runtimes.GivenPaths(crictl=str(program), socket=str(socket))
    assert runtimes.crictl(chosen) == [str(program), "--runtime-endpoint", f"unix://{socket}"]
    ctr = host("opt/cri/ctr", "", 0o755)
    assert runtimes.ctr(runtimes.GivenPaths(ctr=str(ctr), socket=str(socket))) == [
        str(ctr),
        "--address",
        str(socket),
        "--namespace",
        "k8s.io",
    ]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"crictl": "/no/such"}, "offload_lab_crictl /no/such: is no program"),
        ({"crictl": "crictl"}, "Give the path of the program"),
        (
            {"socket": "/no/such.sock"},
            "offload_lab_cri_socket /no/such.sock: there is no such socket",
        ),
    ],
)
def test_what_a_user_gives_and_is_not_there(host, chosen, message):
    host("usr/bin/crictl", "", 0o755)
    with pytest.raises(LabError, match=message):
        runtimes.crictl(runtimes.GivenPaths(**chosen))


def test_a_program_that_a_user_gives_is_trusted_no_more_than_another(monkeypatch, tmp_path):
    monkeypatch.setattr(runtimes.os, "access", lambda *_asked: True)
    path = tmp_path / "crictl"
    path.write_text("")
    path.chmod(0o777)
    with pytest.raises(LabError, match="is not run as root"):
        runtimes.crictl(runtimes.GivenPaths(crictl=str(path)))


@pytest.mark.parametrize(
    "end",
    [
        {"netns": "cni-2f8c1e"},
        {"pid": 48095},
        {"pod": "default/web-0"},
        {"container": "containerd:8f9ec14c8c927"},
    ],
)
def test_each_way_to_name_an_end_leads_to_the_namespace_of_the_pod(host, monkeypatch, end):
    """Of a host with RKE2, on which the CNI has given the namespace a name."""
    configuration = host(f"{RKE2}/agent/etc/crictl.yaml")
    expected_options = {"option": "--config", "value": configuration, "pods": json.dumps(PODS)}
    host(f"{RKE2}/bin/crictl", CRICTL.format(**expected_options), 0o755)
    inodes = {"/proc/48095/ns/net": 7, "cni-2f8c1e": 7, None: 1}
    monkeypatch.setattr(discover, "namespaces", lambda: ["cni-1111", "cni-2f8c1e"])
    monkeypatch.setattr(discover.host_netns, "path_of", lambda name: name)
    monkeypatch.setattr(discover.host_netns, "inode", inodes.get)
    assert discover._inside(end)[0] == "cni-2f8c1e"
