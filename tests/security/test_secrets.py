# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host full of secrets: in Open vSwitch, the kernel's command line and log, containers, NetworkManager,
udev and its .link files, ifupdown, WireGuard. None of them is in a result, a diff, a log or a file that
others may read.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import (
    CommandError,
    ParseError,
)
from ansible_collections.offload.lab.plugins.module_utils._ethtool.settings import offload_log_lines
from ansible_collections.offload.lab.plugins.module_utils._host import runner
from ansible_collections.offload.lab.plugins.module_utils._iproute import discover
from ansible_collections.offload.lab.plugins.module_utils._iproute.parse import parse_links
from ansible_collections.offload.lab.plugins.module_utils._nodes.read_nodes import parse_mountinfo
from ansible_collections.offload.lab.plugins.module_utils._observe import conditions, errors_seen
from ansible_collections.offload.lab.plugins.module_utils._persist import own_lines, plan
from ansible_collections.offload.lab.plugins.module_utils._restore.harm import HarmWatch
from ansible_collections.offload.lab.tests.support import CHECKOUT, environment

SECRET = "SWORDFISH"
COMMAND_LINE = (
    f'BOOT_IMAGE=/vmlinuz root=UUID={SECRET}-root quiet {SECRET}-word password="{SECRET} two" '
    f"mitigations=auto isolcpus=1 -- --token {SECRET}-init mitigations={SECRET}-init\n"
)


def ovs_map(**values):
    return ["map", [[key, value] for key, value in values.items()]]


def table(*rows):
    headings = sorted(rows[0])
    return json.dumps(
        {"headings": headings, "data": [[row[key] for key in headings] for row in rows]}
    )


def interface(name, **options):
    other = ovs_map(private_key=f"{SECRET}-if", n_rxq="2")
    return {
        "_uuid": ["uuid", f"i-{name}"],
        "name": name,
        "type": "gre" if options else "",
        "options": ovs_map(**options),
        "other_config": other,
        "error": ["set", []],
    }


def port(name, interface_name):
    return {
        "_uuid": ["uuid", f"p-{name}"],
        "name": name,
        "interfaces": ["uuid", f"i-{interface_name}"],
    }


def bridge(name, *ports):
    return {
        "_uuid": ["uuid", f"b-{name}"],
        "name": name,
        "ports": ["set", [["uuid", f"p-{port_name}"] for port_name in ports]],
        "datapath_type": "system",
        "external_ids": ovs_map(hidden=f"{SECRET}-external"),
        "other_config": ovs_map(disable_password=f"{SECRET}-bridge"),
    }


OVS = "\n".join(
    [
        table(
            {
                "_uuid": ["uuid", "r"],
                "ovs_version": "3.1.0",
                "other_config": ovs_map(
                    private_key=f"{SECRET}-root", ca_cert=f"{SECRET}-ca", **{"hw-offload": "true"}
                ),
            }
        ),
        table(bridge("br-path", "ol-sec0", "gre0"), bridge("br-other", "gre1")),
        table(port("ol-sec0", "ol-sec0"), port("gre0", "gre0"), port("gre1", "gre1")),
        table(
            interface("ol-sec0"),
            interface("gre0", remote_ip="192.0.2.1", psk=f"{SECRET}-psk", key="10"),
            interface("gre1", remote_ip=f"192.0.2.2-{SECRET}", psk=f"{SECRET}-other"),
        ),
    ]
)
PID = 4194000  # in its place comes a process of the host
INSPECT = {
    "info": {"pid": PID, "config": {"envs": [{"key": "PASSWORD", "value": f"{SECRET}-env"}]}},
    "status": {"annotations": {"token": f"{SECRET}-annotation"}},
}
PODS = {
    "items": [
        {
            "id": "sandbox1",
            "metadata": {"name": "web-0", "namespace": "default"},
            "state": "SANDBOX_READY",
            "annotations": {"secret": f"{SECRET}-pods"},
        }
    ]
}
FAILS = f"#!/bin/sh\necho {SECRET}-fails\nexit 1\n"
# What the programs of a host print, by name.
PRINTED = {
    "ovs-vsctl": OVS,
    "dmesg": f"[0.0] Kernel command line: vxlan offload udp port token={SECRET}-log\n"
    "[1.0] eth0: UDP port 4789 of vxlan is offloaded\n",
    "wg": f"{SECRET}-key\t10.0.0.0/8\n",
    "systemctl": "",
    "ifup": "",
}
LINK_BASE = f"""[Match]
OriginalName=*

[Link]
NamePolicy=keep
WakeOnLan=secureon
WakeOnLanPassword={SECRET}-wol
Description={SECRET}-description
"""
INTERFACES = f"iface ol-sec1 inet dhcp\n  wpa-psk {SECRET}-wpa\n"
DEVICES = [{"name": "ol-sec0", "features": {"tx-tcp-segmentation": False, "tx-gso-list": False}}]
IFUPDOWN = [{"name": "ol-sec1", "features": {"tx-tcp-segmentation": False}}]


def stand_ins(folder, base_link):
    """Write the programs of the host."""
    folder.mkdir()
    for name, text in PRINTED.items():
        (folder / f"{name}.txt").write_text(text)
        (folder / name).write_text(f"#!/bin/sh\ncat /usr/local/sbin/{name}.txt\n")
    (folder / "pods.json").write_text(json.dumps(PODS))
    (folder / "inspect.json").write_text(json.dumps(INSPECT))
    (folder / "crictl").write_text(
        f'#!/bin/sh\ncase "$*" in\n*fails*) echo {SECRET}-fails; exit 1;;\n'
        "*pods*) cat /usr/local/sbin/pods.json;;\n*) cat /usr/local/sbin/inspect.json;;\nesac\n"
    )
    (folder / "nmcli").write_text(
        f'#!/bin/sh\ncase "$*" in\n*ol-sec1*) echo no;;\n*device*) printf "yes\\nuuid-1\\n{SECRET}-nm\\n";;\n'
        f'*show*) printf "\\n\\n{SECRET}-nm\\n";;\nesac\n'
    )
    (folder / "udevadm").write_text(
        f"#!/bin/sh\necho ID_NET_LINK_FILE={base_link}\necho ID_SECRET={SECRET}-udev\n"
    )
    for path in folder.iterdir():
        path.chmod(0o755)


def tasks(folder):
    """Return the tasks that read all of it, each with whether it fails."""
    crictl = {"name": "a", "address": "127.0.0.1"}
    persist = {"path": str(folder / "node" / "persisted.json")}
    return [
        (
            "manifest_info",
            {
                "devices": ["ol-sec0"],
                "settings_of": ["ol-sec0"],
                "results": str(folder / "results"),
                "campaign": "a",
            },
        ),
        ("discover_info", {"ends": [{**crictl, "pod": "default/web-0"}]}),
        ("discover_info", {"ends": [{**crictl, "container": "containerd:web"}]}),
        ("discover_info", {"ends": [{**crictl, "container": "containerd:fails"}]}),
        ("ethtool_info", {"devices": ["ol-sec0"], "gather": ["kernel_log", "driver"]}),
        ("preflight_info", {"device": "ol-sec0"}),
        ("persist", {"devices": DEVICES, "method": "systemd_link", **persist}),
        ("persist", {"devices": DEVICES, "method": "networkmanager", **persist}),
        ("persist", {"devices": IFUPDOWN, "method": "auto", **persist}),
    ]


def playbook(folder):
    listed = [
        {"name": name, f"offload.lab.{name}": arguments, "ignore_errors": True, "diff": True}
        for name, arguments in tasks(folder)
    ]
    play = {"name": "All", "hosts": "localhost", "connection": "local", "gather_facts": False}
    path = folder / "play.yml"
    path.write_text(json.dumps([{**play, "tasks": listed}]))
    return path


HOST = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /usr/local/sbin
cp -a {folder}/programs/. /usr/local/sbin/
mount --bind {folder}/cmdline /proc/cmdline
mkdir -p /etc/network
mount -t tmpfs tmpfs /etc/network
mkdir /etc/network/if-up.d
cp {folder}/interfaces /etc/network/interfaces
mount -t tmpfs tmpfs /etc/systemd
mkdir /etc/systemd/system /etc/systemd/network
sleep 300 &
trap "kill $!" EXIT
sed -i "s/{pid}/$!/" /usr/local/sbin/inspect.json
ip link set lo up
ip link add ol-sec0 type veth peer name ol-sec1
ansible-playbook -i localhost, -vvv {folder}/play.yml
cp -a /etc/systemd/. {folder}/node/systemd
cp -a /etc/network/. {folder}/node/network
"""


@pytest.fixture(scope="module", name="host")
def _host(root_required, tmp_path_factory):
    """A host full of secrets, on which each module that reads it has run."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "cmdline").write_text(COMMAND_LINE)
    (folder / "interfaces").write_text(INTERFACES)
    (folder / "99-base.link").write_text(LINK_BASE)
    stand_ins(folder / "programs", folder / "99-base.link")
    (folder / "node").mkdir()
    (folder / "results").mkdir(mode=0o750)
    playbook(folder)
    variables = environment(
        ANSIBLE_LOG_PATH=str(folder / "ansible.log"),
        ANSIBLE_CALLBACK_RESULT_FORMAT="yaml",
        SECRET_VARIABLE=f"{SECRET}-environment",
    )
    done = subprocess.run(
        ["unshare", "--mount", "--net", "sh", "-c", HOST.format(folder=folder, pid=PID)],
        cwd=CHECKOUT,
        env=variables,
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text[-3000:]
    return folder, text


def test_no_secret_is_in_an_event_a_diff_or_a_log(host):
    folder, text = host
    log = (folder / "ansible.log").read_text()
    assert text.count("TASK [") == len(tasks(folder)) and "TASK [persist]" in log
    for shown_text in (text, log):
        assert [line[:300] for line in shown_text.splitlines() if SECRET in line] == []


def test_the_host_was_read_in_all_these_places(host):
    """Without this the test before would pass where nothing ran."""
    folder, text = host
    (node,) = json.loads((folder / "results/manifest.json").read_text())["nodes"].values()
    before = node["before"]
    assert before["host"]["command_line"] == [
        "BOOT_IMAGE",
        "root",
        "password",
        "mitigations=auto",
        "isolcpus=1",
    ]
    assert before["ovs"]["other_config"] == {"hw-offload": "true"}
    assert list(before["ovs"]["bridges"]) == ["br-path"]
    tunnel = before["ovs"]["bridges"]["br-path"]["interfaces"]["gre0"]
    assert tunnel["options"] == {"key": "10", "remote_ip": "192.0.2.1"}
    assert before["kernel_log"]["lines"] == ["[1.0] eth0: UDP port 4789 of vxlan is offloaded"]
    assert "WakeOnLanPassword=(not shown)" in text
    assert "TCPSegmentationOffload=false" in text
    assert "ethtool.feature-tx-tcp-segmentation" in text
    assert "if-up.d" in text
    assert "failed with exit status 1" in text and "ignored=1" in text


def test_no_secret_is_in_a_file_of_the_controller(host):
    folder, _text = host
    files = [path for path in (folder / "results").rglob("*") if path.is_file()]
    assert files and not any(SECRET in path.read_text() for path in files)


def test_files_of_the_node_with_lines_of_others_are_roots_alone(host):
    folder, _text = host
    files = [path for path in (folder / "node").rglob("*") if path.is_file()]
    written = [path for path in files if path.name != "interfaces"]
    confidential = [path for path in written if SECRET in path.read_text()]
    # systemd needs the password in the file that it uses, and persist its text to see a change.
    assert {path.suffix for path in confidential} <= {".link", ".json"}
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in confidential} <= {0o600}
    assert stat.S_IMODE(os.stat(folder / "node/persisted.json").st_mode) == 0o600


def test_the_kernels_command_line_is_not_in_its_log():
    line = f"[0] Command line: vxlan udp port offload {SECRET}"
    assert offload_log_lines(f"{line}\n[1] Kernel c{line[5:]}\n") == []


def test_what_programs_write_into_the_kernels_log_is_left_out(tmp_path):
    log = tmp_path / "kmsg"
    log.write_bytes(b"")
    reader = errors_seen.KernelLog(str(log))
    log.write_text(f"12,1,2,-;systemd: eth0 link is down {SECRET}\n")
    assert reader.alarms() == []
    reader = errors_seen.KernelLog(str(log))
    log.write_text(log.read_text() + "4,2,3,-;eth0: NETDEV WATCHDOG\n")
    assert reader.alarms() == ["eth0: NETDEV WATCHDOG"]


def test_keys_of_wireguard_are_compared_and_never_shown(monkeypatch):
    row = {"ifname": "wg0", "ifindex": 2, "mtu": 1420, "flags": [], "addr_info": []}
    links = parse_links(json.dumps([{**row, "linkinfo": {"info_kind": "wireguard"}}]))
    rows = {"allowed-ips": f"{SECRET}=\t10.0.0.0/8\n", "endpoints": f"{SECRET}=\t192.0.2.9:51820\n"}
    monkeypatch.setattr(discover, "_wg", lambda _device, what: rows[what])
    discover._add_endpoints(links, "10.1.1.1")
    assert links["wg0"]["data"] == {"remote": "192.0.2.9"}
    assert SECRET not in json.dumps(links)


def test_messages_of_failed_programs_show_no_output_of_those_that_know_secrets(tmp_path):
    program = tmp_path / "crictl"
    program.write_text(FAILS)
    program.chmod(0o755)
    with pytest.raises(CommandError) as failed:
        runner.run([str(program), "inspect", "a"])
    assert SECRET not in str(failed.value)


def test_options_of_a_mount_are_not_in_a_message():
    line = f"1 2 0:1 / - cifs //h/s password={SECRET}"
    with pytest.raises(ParseError) as failed:
        parse_mountinfo(line)
    assert SECRET not in str(failed.value)


def test_arguments_of_a_health_check_are_not_in_its_harm():
    watch = HarmWatch(
        {
            "answers": [],
            "silent": [],
            "devices": [],
            "commands": [["ol-none", f"--password={SECRET}"]],
            "patience": 1.2,
        }
    )
    assert "'ol-none'" in str(watch.seen()) and SECRET not in str(watch.seen())


def test_a_file_that_is_not_ours_is_counted_and_not_shown():
    for path in (f"{plan.UNITS}x.service", "/etc/systemd/network/00-offload-lab-a.link"):
        assert own_lines.shown(path, f"[Link]\nPassword={SECRET}\n") == (
            "(2 lines that offload.lab did not write)\n"
        )


def test_no_sysctl_and_no_condition_of_the_host_may_be_a_secret(monkeypatch):
    """Each is one of a list; a host whose every file is a secret gives no other name."""
    monkeypatch.setattr(conditions, "read", lambda path: f"{SECRET} of {path}")
    assert set(conditions.sysctls()) == set(conditions.SYSCTLS)
    assert not [name for name in conditions.SYSCTLS if "key" in name or "secret" in name]
