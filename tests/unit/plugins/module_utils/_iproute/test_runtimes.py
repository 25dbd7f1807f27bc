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
    with pytest.raises(LabError, match="neither crictl nor ctr.* Name the end by netns"):
        discover._process({"pod": "default/web-0"})


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_program_that_others_may_change_is_not_run(monkeypatch, tmp_path, mode):
    program = tmp_path / "crictl"
    program.write_text("#!/bin/sh\n")
    program.chmod(mode)
    monkeypatch.setattr(runtimes, "FOLDERS", (str(tmp_path),))
    with pytest.raises(LabError, match="is not run as root, since not root alone may change"):
        runtimes.crictl()


def test_a_program_of_another_user_is_not_run(monkeypatch, tmp_path):
    program = tmp_path / "crictl"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    real = os.stat
    monkeypatch.setattr(
        runtimes.os, "stat", lambda path: os.stat_result((0o100755, 0, 0, 1, 1000, 0, 0, 0, 0, 0))
    )
    with pytest.raises(LabError, match="is not run as root"):
        runtimes.check_trusted(str(program))
    monkeypatch.setattr(runtimes.os, "stat", real)
