# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A name or a value that the kernel or an inventory allows never becomes a command: not in the script
of ifupdown, not in a unit, not in a .link file, and not where a node reports the name.
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base import network, steps
from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._host import netns
from ansible_collections.offload.lab.plugins.module_utils._iproute import discover
from ansible_collections.offload.lab.plugins.module_utils._iproute.parse import (
    parse_links,
    parse_namespaces,
)
from ansible_collections.offload.lab.plugins.module_utils._persist import host, managers, plan
from ansible_collections.offload.lab.plugins.module_utils._restore import harm
from ansible_collections.offload.lab.tests.security.systemd_words import systemd_words
from ansible_collections.offload.lab.tests.support import run

# The kernel takes each of them as the name of a device: at most 15 bytes, no white space, no slash.
KERNEL_TAKES = [
    "a;id;x",
    "$(id)",
    "`id`",
    "a|id",
    "a&id&",
    "a>x",
    "a'b",
    'a"b',
    "a\\b",
    "#a",
    "a*",
    "a?",
    "[a]",
    "%n",
    "${IFS}",
    "{{7*7}}",
    "=cmd(",
    "<b>",
    "!a",
    "~",
    "@a",
    "-K",
    "n\u00f6",
]
KERNEL_REFUSES = ["", ".", "..", "../x", "a b", "a\nb", "a\0b", "a" * 16, None, 7, ["a"]]
SETTINGS = {"features": {"tx-gso-list": True}, "rps": {"rx-0": "f", "rx-1": "f"}}


@pytest.mark.parametrize("name", KERNEL_TAKES + KERNEL_REFUSES, ids=repr)
def test_a_hostile_name_is_refused(name):
    with pytest.raises(InputError, match="name for a device|too many"):
        network.device_name(name)
    assert not network.is_device_name(name)


@pytest.mark.parametrize("name", [*KERNEL_TAKES, "../x", "a/b", "a\nb", "a" * 201], ids=repr)
def test_a_hostile_namespace_is_refused_at_the_door(name):
    """Whatever module it comes from, a namespace is entered by its file."""
    with pytest.raises(InputError, match="network namespace"):
        netns.path_of(name)
    with pytest.raises(InputError):
        harm.checked({"devices": [{"name": "eth0", "netns": name}]})


@pytest.mark.parametrize("name", ["eth0", "br-ex", "flannel.1", "a@b", "wg_0", "veth0+1", "a=b"])
def test_ordinary_names_are_taken(name):
    assert network.device_name(name) == name
    assert network.namespace_name(f"cni-{name}")


@pytest.mark.parametrize("name", ["a;id", "$(id)", "-a", "a b", "../x", ""])
def test_a_hostile_container_is_refused_before_a_program_gets_it(name, monkeypatch):
    started = []
    monkeypatch.setattr(discover, "run", lambda *argv, **_options: started.append(argv))
    for engine in discover.ENGINES:
        with pytest.raises(InputError):
            discover.begin({"name": "a", "container": f"{engine}:{name}"})
    with pytest.raises(InputError):
        discover.begin({"name": "a", "pod": f"default/{name}"})
    assert started == []


def made_by(argv, folder, **variables):
    """Run a command without ethtool, and return the files that it made."""
    stand_in = folder / "bin"
    work = folder / "work"
    for maker in (stand_in, work):
        maker.mkdir(exist_ok=True)
    (stand_in / "ethtool").write_text("#!/bin/sh\n")
    (stand_in / "ethtool").chmod(0o755)
    path = f"{stand_in}:{os.environ['PATH']}"
    subprocess.run(argv, cwd=work, env={"PATH": path, **variables}, check=False, timeout=20)
    return sorted(path.name for path in work.iterdir())


def made_by_script(text, folder, name):
    """Run a script of ifupdown as its interface comes up."""
    script = folder / "script"
    script.write_text(text)
    return made_by(["sh", script], folder, IFACE=name)


def made_by_unit(text, folder):
    """Run the programs of a unit as systemd does."""
    outputs = []
    for line in text.splitlines():
        if line.startswith("ExecStart="):
            outputs += made_by(systemd_words(line[len("ExecStart=") :]), folder)
        else:
            assert line == "" or line.startswith(("#", "[")) or "=" in line, line
    return outputs


@pytest.mark.parametrize("name", ["a;>c;x", "$(>c)", "`>c`", "x]||>c;["])
def test_no_script_runs_what_a_name_says(name, tmp_path):
    try:
        (text,) = plan.wanted_of(name, SETTINGS, plan.Seen("ifupdown")).files.values()
    except InputError:
        return
    assert made_by_script(text, tmp_path, name) == []


@pytest.mark.parametrize("value", ["f;>c", "$(>c)", "`>c`", "f\n>c", "'>c'"])
@pytest.mark.parametrize("where", ["features", "rps", "irq_affinity", "coalesce"])
def test_no_script_runs_what_a_value_says(where, value, tmp_path):
    settings = {
        "features": {"features": {value: True}},
        "rps": {"rps": {"rx-0": value, "rx-1": value}},
        "irq_affinity": {"irq_affinity": {"irq-1": value}},
        "coalesce": {"coalesce": {"rx-usecs": value}},
    }[where]
    for way in ("ifupdown", "systemd_link"):
        try:
            files = plan.wanted_of("lo", settings, plan.Seen(way)).files
        except InputError:
            continue
        for text in files.values():
            if way == "ifupdown":
                assert made_by_script(text, tmp_path, "lo") == []
            else:
                assert made_by_unit(text, tmp_path) == []


@pytest.mark.parametrize("name", KERNEL_TAKES, ids=repr)
def test_no_file_of_the_host_has_a_hostile_name(name):
    link = plan.Seen("systemd_link", "OriginalName=eth0", "/usr/lib/x.link", "[Link]\n")
    for way in (link, plan.Seen("ifupdown")):
        with pytest.raises(InputError):
            plan.wanted_of(name, {"features": {"tx-tcp-segmentation": True}, **SETTINGS}, way)


def test_what_udev_and_ethtool_report_stays_on_its_line(monkeypatch):
    class Answer:
        def __init__(self, out):
            self.out = out
            self.rc = 0

    def answers(argv, **_options):
        if argv[0] == "ethtool":
            return Answer("Permanent address: 02:00:00:00:00:01\n[Link]\nMACAddress=x:y\n")
        return Answer("ID_NET_LINK_FILE=\n")

    monkeypatch.setattr(host, "run", answers)
    assert host.link_of("eth0").match == "OriginalName=eth0"
    with pytest.raises(InputError):
        managers.link_text("OriginalName=a\n[Link]", {}, "", "")


def link_row(name, number, kind=None):
    row = {"ifname": name, "ifindex": number, "mtu": 1500, "flags": ["UP"], "addr_info": []}
    return {**row, "linkinfo": {"info_kind": kind}} if kind else row


def test_a_device_with_a_hostile_name_is_left_out_and_the_others_stay(monkeypatch):
    rows = [link_row("lo", 1), link_row("a;id;x", 2, "vxlan"), link_row("flannel.1", 3, "vxlan")]
    monkeypatch.setattr(discover, "read", lambda netns=None: parse_links(json.dumps(rows)))
    monkeypatch.setattr(discover, "namespaces", lambda: {"pod": 1})
    tunnels, notes = discover.all_tunnels()
    assert {tunnel["device"] for tunnel in tunnels} == {"flannel.1"}
    assert notes == [
        "device 'a;id;x' is left out: its name has signs that the lab does not use",
        "device 'a;id;x' of namespace pod is left out: its name has signs that the lab does not use",
    ]


def test_what_a_lying_ip_prints_of_a_tunnel_is_no_text():
    row = link_row("vxlan0", 2, "vxlan")
    row["linkinfo"]["info_data"] = {
        "id": "{{ 7 }}",
        "port": "$(id)",
        "remote": "<script>",
        "link": "a;id",
    }
    (tunnel,) = discover.tunnels({"": parse_links(json.dumps([row]))})
    assert [tunnel[key] for key in ("id", "port", "remote", "under")] == [None] * 4
    for wrong in ({**row, "mtu": "{{ 7 }}"}, link_row("a", 3, "<script>")):
        with pytest.raises(LabError):
            parse_links(json.dumps([wrong]))


def test_a_namespace_with_a_hostile_name_is_left_out():
    text = json.dumps([{"name": "pod"}, {"name": "$(id)"}, {"name": "a\nb"}])
    assert list(parse_namespaces(text)) == ["pod"]


@pytest.fixture(name="strange_device")
def _strange_device(root_required):
    """A namespace whose kernel has such a device, below a VXLAN device with an ordinary name."""
    name = "sectest-names"
    run(["ip", "netns", "add", name])
    try:
        inside = ["ip", "-netns", name, "link", "add"]
        run([*inside, "a;id;x", "type", "bridge"])
        run([*inside, "vxlan7", "type", "vxlan", "id", "7", "dev", "a;id;x", "dstport", "4789"])
        yield name
    finally:
        run(["ip", "netns", "del", name])


def module(netns_name, name, arguments, rc=0):
    """Run a module of ours in a namespace, and return what Ansible prints."""
    argv = ["ansible", "localhost", "-c", "local", "-m", f"offload.lab.{name}"]
    return run(
        ["ip", "netns", "exec", netns_name, *argv, "-a", json.dumps(arguments)],
        rc,
        timeout=120,
        ANSIBLE_CALLBACK_RESULT_FORMAT="json",
    )


def test_discover_lives_with_a_device_of_the_kernel(strange_device):
    shown = module(strange_device, "discover_info", {"ends": []})
    result = json.loads(shown[shown.index("{", shown.index("=>")) :])
    ours = [tunnel for tunnel in result["tunnels"] if tunnel["device"] == "vxlan7"]
    assert ours[0]["under"] is None
    assert any("'a;id;x' is left out" in note for note in result["notes"])


def test_persist_refuses_a_device_of_the_kernel(strange_device, tmp_path):
    options = {
        "devices": [{"name": "a;id;x", "features": {"tx-gso-list": False}}],
        "method": "ifupdown",
        "path": str(tmp_path / "persisted.json"),
    }
    assert "not a usable name for a device" in module(strange_device, "persist", options, rc=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sign", ["#", '"', "'", "\\", "\n", "\r", "\0"])
def test_a_name_that_a_tenant_gave_its_device_ends_no_line_of_a_batch(sign):
    """What is in a namespace is named by whoever is root there."""
    with pytest.raises(InputError, match="ip -batch"):
        steps.batch(["link set dev eth0 up", f"link del dev a{sign}b"])
    assert steps.batch(["link del dev a;b"])[0].stdin == "link del dev a;b\n"
