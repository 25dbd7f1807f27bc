# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._iproute import management
from ansible_collections.offload.lab.plugins.module_utils._iproute.parse import parse_links

CONNECTION = "203.0.113.5 50000 192.0.2.10 22"


def link(name, kind=None, master=None, parent=None, address=None):
    row = {"ifname": name, "ifindex": 1, "mtu": 1500}
    if kind:
        row["linkinfo"] = {"info_kind": kind}
    if master:
        row["master"] = master
    if parent:
        row["link"] = parent
    if address:
        row["addr_info"] = [{"family": "inet", "local": address, "prefixlen": 24}]
    return row


LINKS = parse_links(
    json.dumps(
        [
            link("lo"),
            link("eth0", master="bond0"),
            link("eth1", master="bond0"),
            link("eth2"),
            link("bond0", "bond", master="br0"),
            link("tap0", "tun", master="br0"),
            link("br0", "bridge"),
            link("br0.7", "vlan", parent="br0", address="192.0.2.10"),
            link("veth0", "veth", parent="eth2"),
        ]
    )
)


@pytest.mark.parametrize(
    "device,expected",
    [
        ("eth2", ["eth2"]),
        ("bond0", ["bond0", "eth0", "eth1"]),
        ("br0.7", ["bond0", "br0", "br0.7", "eth0", "eth1", "tap0"]),
        ("veth0", ["veth0"]),
        ("gone", []),
    ],
)
def test_carriers(device, expected):
    assert management.carriers(device, LINKS) == expected


def test_a_circle_of_links_ends():
    circle = parse_links(json.dumps([link("a", "vlan", parent="b"), link("b", "vlan", parent="a")]))
    assert management.carriers("a", circle) == ["a", "b"]


def test_the_route_back_and_the_address_both_count():
    route = management.parse_route(
        '[{"dst":"203.0.113.5","dev":"eth2","prefsrc":"192.0.2.10","flags":[]}]'
    )
    assert management.devices_of(CONNECTION, route, LINKS) == [
        "bond0",
        "br0",
        "br0.7",
        "eth0",
        "eth1",
        "eth2",
        "tap0",
    ]
    assert management.devices_of("203.0.113.5 1 198.51.100.1 22", [], LINKS) == []


@given(st.text())
def test_any_text_gives_devices_or_our_error(text):
    with contextlib.suppress(LabError):
        assert all(isinstance(name, str) for name in management.parse_route(text))


class Processes:
    """A folder like /proc."""

    def __init__(self, folder):
        self.folder = folder

    def add(self, pid, parent, comm, environ="", netns="1"):
        home = self.folder / pid
        (home / "ns").mkdir(parents=True)
        os.symlink(f"net:[{netns}]", home / "ns/net")
        (home / "environ").write_text(environ)
        (home / "cmdline").write_text(comm + "\0")
        (home / "comm").write_text(comm + "\n")
        (home / "stat").write_text(f"{pid} ({comm}) S {parent} 0\n")


@pytest.fixture(name="processes")
def _processes(tmp_path):
    processes_of_host = Processes(tmp_path)
    processes_of_host.add("10", "1", "sshd")
    processes_of_host.add("11", "10", "sh", f"A=1\0SSH_CONNECTION={CONNECTION}\0")
    processes_of_host.add("12", "11", "sudo", "B=2\0")
    return processes_of_host


def test_sudo_hides_the_connection_from_the_module_only(processes):
    processes.add("13", "12", "python3")
    assert management.connection(str(processes.folder), "13") == CONNECTION


def test_a_node_in_a_namespace_has_no_connection_of_its_own(processes):
    processes.add("13", "12", "python3", netns="2")
    assert management.connection(str(processes.folder), "13") is None
    processes.add("14", "12", "python3", f"SSH_CONNECTION={CONNECTION}\0", netns="2")
    assert management.connection(str(processes.folder), "14") is None


def test_a_local_controller_has_no_connection(processes):
    processes.add("20", "1", "bash")
    processes.add("21", "20", "python3")
    assert management.connection(str(processes.folder), "21") is None


def test_a_change_is_refused_unless_allowed_by_name(monkeypatch):
    carrying = management.Management(["bond0", "eth0"], False)
    monkeypatch.setattr(management, "find", lambda: carrying)
    with pytest.raises(InputError, match="eth0.*allow_management_device"):
        management.check(["eth0", "eth7"], [])
    with pytest.raises(InputError, match="bond0"):
        management.check(["eth0", "bond0"], ["eth0"])
    management.check(["eth0"], ["eth0"])
    management.check(["eth7", "tenant1/eth0"], [])


ROUTES = [
    {"dst": "default", "gateway": "192.0.2.1", "dev": "bond0", "flags": []},
    {"dst": "default", "nexthops": [{"dev": "eth7", "weight": 1}, {"dev": "eth8", "weight": 1}]},
    {"type": "unreachable", "dst": "default", "dev": "lo"},
]


def test_default_routes_have_one_device_or_several():
    assert management.parse_default_routes(json.dumps(ROUTES)) == ["bond0", "eth7", "eth8"]
    assert management.parse_default_routes("") == []


@given(st.text())
def test_any_text_gives_default_routes_or_our_error(text):
    with contextlib.suppress(LabError):
        assert isinstance(management.parse_default_routes(text), list)


@pytest.mark.parametrize(
    ("parent", "comm"),
    [("1", "systemd"), ("0", "docker-exec"), ("1", "ssm-agent-worker")],
)
def test_without_an_ssh_session_the_default_route_is_protected(
    processes, monkeypatch, parent, comm
):
    """run0 and systemd-run are children of systemd, docker and kubectl of nobody."""
    processes.add("1", "0", "systemd")
    processes.add("30", parent, comm)
    processes.add("31", "30", "python3")
    assert management.connection(str(processes.folder), "31") is None
    assert not management.is_local(str(processes.folder), "31")
    monkeypatch.setattr(management, "connection", lambda: None)
    monkeypatch.setattr(management, "is_local", lambda: False)
    outputs = {"-4": ROUTES[:1], "-6": []}
    monkeypatch.setattr(
        management,
        "run",
        lambda argv: CommandResult(argv, 0, json.dumps(outputs[argv[1]]), ""),
    )
    monkeypatch.setattr(management.read, "read", lambda: LINKS)
    assert management.find() == (["bond0", "eth0", "eth1"], True)
    warning = management.warning(management.find())
    assert "offload_lab_allow_management_device" in warning and "bond0, eth0, eth1" in warning
    with pytest.raises(InputError, match="eth1: is on a default route.*allow_management_device"):
        management.check(["eth1"], [])
    management.check(["eth1"], ["eth1"])
    management.check(["eth2", "tenant1/eth1"], [])


@pytest.mark.parametrize(
    "cmdline",
    ["/usr/bin/python3\0/usr/bin/ansible-playbook\0site.yml\0", "ansible\0all\0"],
)
def test_a_controller_on_this_host_has_no_device(processes, cmdline):
    processes.add("1", "0", "systemd")
    processes.add("40", "1", "python3")
    (processes.folder / "40/cmdline").write_text(cmdline)
    processes.add("41", "40", "sudo")
    processes.add("42", "41", "python3")
    assert management.is_local(str(processes.folder), "42")


def test_a_node_in_a_namespace_has_no_device(processes):
    processes.add("1", "0", "systemd")
    processes.add("50", "1", "python3", netns="2")
    assert management.is_local(str(processes.folder), "50")
