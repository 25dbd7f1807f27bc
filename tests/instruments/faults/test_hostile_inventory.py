# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hostile inventory gets messages: nothing runs, nothing is made, nothing is written outside.

Every module gets one bad name of each kind with OFFLOAD_LAB_FAULTS=all (make faults), otherwise one
kind each in turn.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from ansible_collections.offload.lab.tests.support import run
from ansible_collections.offload.lab.tests.system.lab import own_devices, traces

pytestmark = pytest.mark.nightly
MARK = Path("/tmp/offload-lab-hostile")
TOUCH = f"touch {MARK}"
NAMES = {
    # The kernel takes it as the name of a device.
    "word": "a;id;x",
    "shell": f"a; {TOUCH}; $({TOUCH}) `{TOUCH}` | {TOUCH}\n{TOUCH}\n'\" && {TOUCH} && '\"#",
    "option": "-K",
    "long": "a" * 10240,
    "unicode": "n\u00f6d\u00e9\u202e\U0001f980",
    "upwards": f"../../..{MARK}",
    "empty": "",
}
LONG = os.environ.get("OFFLOAD_LAB_FAULTS") == "all"
# What a message has to quote of a bad name, so that its reader finds it.
QUOTED = {
    "word": "a;id;x",
    "shell": "touch",
    "option": "-K",
    "long": "aaaaa",
    "unicode": "n",
    "upwards": "../",
    "empty": "",
}
# Refused for another reason than the name, which was then never checked.
NOT_THE_NAME = re.compile(r"(Uns|S)upported parameters|does not answer|needs root|is not installed")
NOWHERE = "/nonexistent/persisted.json"
TENANT = {"name": "a", "addresses": ["192.0.2.1/24"]}
CELL = {"id": "a", "workload": {"test": "TCP_STREAM"}}


def uses(bad):
    """Return ``[(module, arguments)]``: every module that takes a name or an address, given a bad
    one.
    """
    cell = dict(CELL, endpoints=[{"address": "192.0.2.1"}])
    return [
        ("nodes", {"name": bad, "nodes": [{"name": "a"}]}),
        ("nodes", {"name": "hostile", "nodes": [{"name": bad}]}),
        ("nodes", {"name": "hostile", "nodes": [{"name": "hostile-a", "addresses": [bad or "x"]}]}),
        ("tenants", {"tenants": [dict(TENANT, name=bad)]}),
        ("tenants", {"tenants": [dict(TENANT, mac=bad)]}),
        ("tenants", {"tenants": [dict(TENANT, addresses=[bad])]}),
        (
            "tenants",
            {"tenants": [dict(TENANT, neighbors=[{"address": bad, "mac": "02:00:00:00:00:01"}])]},
        ),
        ("tenants", {"tenants": [TENANT], "bridge": bad}),
        ("switch", {"bridge": bad}),
        ("ovs_ports", {"bridge": bad, "ports": [{"name": "a"}]}),
        ("ovs_ports", {"ports": [{"name": bad}]}),
        ("vxlan_device", {"name": bad, "local": "192.0.2.1"}),
        ("vxlan_device", {"local": bad or "x"}),
        ("vxlan_device", {"local": "192.0.2.1", "remotes": [bad]}),
        ("link", {"devices": [{"name": bad}], "mtu": 1400}),
        ("link", {"devices": [{"name": "lo", "netns": bad or "-"}], "mtu": 1400}),
        ("ethtool", {"devices": [bad], "features": {"tso": False}}),
        ("ethtool", {"devices": [{"name": "lo", "netns": bad or "-"}], "features": {"tso": False}}),
        ("ethtool", {"devices": ["lo"], "features": {bad: False}}),
        ("ethtool", {"devices": ["lo"], "rx_flow_hash": {bad: "sd"}}),
        ("ethtool_info", {"devices": [bad]}),
        ("steering", {"devices": [{"name": bad, "rps": {"cpus": "all"}}]}),
        ("manifest_info", {"devices": [bad]}),
        ("snapshot", {"devices": [{"name": bad}], "path": "/nonexistent/snapshot.json"}),
        ("path_check_info", {"paths": [{"name": "a", "address": bad}]}),
        (
            "path_check_info",
            {"paths": [{"name": "a", "address": "192.0.2.1", "netns": bad or "-"}]},
        ),
        ("netserver", {"servers": [{"address": bad}]}),
        ("netserver", {"servers": [{"address": "192.0.2.1", "netns": bad or "-"}]}),
        ("probe", {"address": bad}),
        ("persist", {"devices": [{"name": bad, "features": {"tso": False}}], "path": NOWHERE}),
        ("persist", {"devices": [{"name": "lo", "features": {bad: False}}], "path": NOWHERE}),
        ("persist", {"devices": [{"name": "lo", "rps": {"cpus": bad}}], "path": NOWHERE}),
        ("discover_info", {"ends": [{"address": "192.0.2.1", "netns": bad or "-"}]}),
        ("discover_info", {"ends": [{"address": "192.0.2.1", "container": f"docker:{bad}"}]}),
        ("discover_info", {"ends": [{"address": "192.0.2.1", "pod": f"default/{bad}"}]}),
        ("firewall", {"method": "nftables", "sources": [bad or "-"]}),
        ("firewall", {"method": "nftables", "chain": bad or "-", "sources": ["192.0.2.1"]}),
        ("firewall", {"method": "firewalld", "device": bad or "-", "sources": ["192.0.2.1"]}),
        ("ovs_buffers", {"bridge": bad}),
        ("netperf", {"address": bad}),
        ("netperf", {"address": "192.0.2.1", "netns": bad or "-"}),
        ("netperf", {"address": "192.0.2.1", "test": bad}),
        ("visit", {"cells": [dict(cell, endpoints=[{"address": bad}])]}),
        ("visit", {"cells": [dict(cell, workload={"test": bad})]}),
        ("visit", {"cells": [dict(cell, id=bad)], "record": "/nonexistent/trials.jsonl"}),
        ("visit", {"cells": [cell], "campaign": bad}),
        ("plan", {"campaign": {"name": bad, "blocks": 1}, "results_dir": "/nonexistent"}),
        (
            "plan",
            {"campaign": {"name": "a", "factors": [bad or "-"]}, "results_dir": "/nonexistent"},
        ),
    ]


def everything():
    """Return what must be the same before and after."""
    return (
        traces(),
        own_devices(),
        sorted(os.listdir("/tmp")),
        sorted(os.listdir("/run")),
        MARK.exists(),
    )


def quiet(names):
    """Return names of temporary files, without the files of Ansible and of other users of this
    machine."""
    return [name for name in names if "hostile" in name]


@pytest.fixture(scope="module", name="answers")
def _answers(root_required, tmp_path_factory):
    """Every module with every bad name, in one play."""
    folder = tmp_path_factory.mktemp("play")
    kinds = list(NAMES)
    cases = [
        (kind, module, arguments)
        for index, kind in enumerate(kinds)
        for number, (module, arguments) in enumerate(uses(NAMES[kind]))
        if LONG or number % len(kinds) == index
    ]
    tasks = [
        {
            "name": "Try",
            f"offload.lab.{module}": arguments,
            "register": f"answer_{number}",
            "ignore_errors": True,
        }
        for number, (_kind, module, arguments) in enumerate(cases)
    ]
    tasks.append(
        {
            "name": "Keep",
            "ansible.builtin.copy": {
                "dest": str(folder / "answers.json"),
                "mode": "0600",
                "content": "{{ ["
                + ", ".join(f"answer_{number}" for number in range(len(cases)))
                + "] | to_json }}",
            },
        }
    )
    play = [
        {
            "name": "Hostile names",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "tasks": tasks,
        }
    ]
    (folder / "play.yml").write_text(json.dumps(play))
    before = everything()
    run(["ip", "netns", "add", "systest-hostile"])
    try:
        run(
            [
                "ip",
                "netns",
                "exec",
                "systest-hostile",
                "ansible-playbook",
                "-i",
                "localhost,",
                folder / "play.yml",
            ],
            timeout=1800,
        )
    finally:
        run(["ip", "netns", "del", "systest-hostile"])
    answers = json.loads((folder / "answers.json").read_text())
    return list(zip(cases, answers)), before, everything()


def test_each_bad_name_gets_one_message(answers):
    wrong = []
    for (kind, module, arguments), answer in answers[0]:
        text = str(answer.get("msg", ""))
        if (
            not answer.get("failed")
            or answer.get("changed")
            or "Traceback" in json.dumps(answer)
            or not text
        ):
            shown = {
                key: str(answer.get(key))[:300] for key in ("failed", "changed", "msg", "exception")
            }
            wrong.append((kind, module, str(arguments)[:120], shown))
        elif len(text) > 2000:
            wrong.append((kind, module, "message of", len(text)))
        elif NOT_THE_NAME.search(text) or QUOTED[kind] not in text:
            wrong.append(
                (kind, module, str(arguments)[:120], "refused, but not for its name:", text[:300])
            )
    assert not wrong, "\n".join(map(str, wrong))


def test_nothing_ran_and_nothing_was_written(answers):
    _cases, before, after = answers
    assert not MARK.exists()
    # Other labs may come and go on this machine meanwhile.
    leftovers = (after[0]["namespaces"] - before[0]["namespaces"]) | (
        after[0]["files"] - before[0]["files"]
    )
    assert [
        name for name in leftovers if re.search(r"hostile|^[^a-z/]|/probe-|/netserver-|aaaa", name)
    ] == []
    assert after[1] == before[1]
    assert quiet(after[2]) == quiet(before[2])
    assert not Path("/nonexistent").exists()


@pytest.mark.parametrize("kind", [kind for kind in NAMES if kind != "empty"] if LONG else ["shell"])
def test_a_lab_of_that_name_is_refused(root_required, kind):
    output = run(
        ["ansible-playbook", "playbooks/nodes.yml"],
        rc=None,
        OFFLOAD_LAB_NAME=NAMES[kind],
        timeout=120,
    )
    assert "Traceback" not in output
    assert "failed=0" not in output or "ok=0" in output, output[-2000:]
    assert not MARK.exists()


@pytest.mark.parametrize(
    "kind", [kind for kind in NAMES if kind != "empty"] if LONG else ["option"]
)
def test_a_host_of_that_name_is_not_entered(root_required, kind, tmp_path):
    inventory = tmp_path / "hosts.json"
    inventory.write_text(
        json.dumps(
            {
                "all": {
                    "hosts": {
                        "a": {
                            "ansible_connection": "offload.lab.namespace",
                            "ansible_host": NAMES[kind],
                        }
                    }
                }
            }
        )
    )
    output = run(["ansible", "a", "-i", inventory, "-m", "ping"], rc=4, timeout=120)
    assert "UNREACHABLE" in output and "is not there" in output, output
    assert not MARK.exists()
