# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._base.steps import in_netns
from ansible_collections.offload.lab.plugins.module_utils._ethtool import read
from ansible_collections.offload.lab.plugins.module_utils._host import runner
from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._kinds import change as ethtool_change
from ansible_collections.offload.lab.plugins.module_utils._kinds.change import (
    cannot_vary,
    lines,
    warnings,
)
from ansible_collections.offload.lab.plugins.modules import ethtool

CASES = yaml.safe_load((Path(__file__).parent / "ethtool_cases.yml").read_text(encoding="utf-8"))[
    "cases"
]
DEFAULTS = {
    "netns": None,
    "features": {},
    "rx_flow_hash": {},
    "channels": {},
    "rings": {},
    "coalesce": {},
    "fixed": "error",
    "protect": [],
}


class Commands:
    """Stands for the process door: answers the expected commands, each once and in this order."""

    def __init__(self, expected):
        self.expected = list(expected)

    def run(self, argv, stdin=None, netns=None, timeout=60, check=True):
        argv = in_netns(argv, netns)
        assert self.expected, f"one command too many: {argv}"
        command = self.expected.pop(0)
        assert " ".join(argv) == command["argv"]
        assert not check
        return CommandResult(
            argv, command.get("rc", 0), command.get("out", ""), command.get("err", "")
        )


@pytest.fixture
def change(monkeypatch):
    """Run the module's body with its commands answered from a list."""

    def call(params, commands, check_mode=False):
        door = Commands(commands)
        for module in (read, runner):
            monkeypatch.setattr(module, "run", door.run)
        monkeypatch.setattr(ethtool_change, "check_netns", lambda netns: None)
        monkeypatch.setattr(ethtool, "require", lambda needed: None)
        try:
            return ethtool.change(dict(DEFAULTS, **params), check_mode)
        finally:
            assert door.expected == []

    return call


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_cases(case, change):
    arguments = (case["params"], case["commands"], case.get("check_mode", False))
    if "error" in case:
        with pytest.raises(LabError) as caught:
            change(*arguments)
        assert str(caught.value) == case["error"]
        return
    devices = change(*arguments)
    assert list(devices) == list(case["devices"])
    for key, expected in case["devices"].items():
        assert {name: devices[key][name] for name in expected} == expected


def test_nobody_without_the_right_may_change_anything(monkeypatch):
    def refuse(needed):
        raise InputError(f"this task needs root: {needed}")

    monkeypatch.setattr(ethtool, "require", refuse)
    monkeypatch.setattr(read, "run", Commands([]).run)
    with pytest.raises(InputError, match="CAP_NET_ADMIN"):
        ethtool.change(dict(DEFAULTS, devices=["veth0"]), False)
    with pytest.raises(InputError, match="CAP_SYS_ADMIN"):
        ethtool.change(dict(DEFAULTS, devices=[{"name": "veth0", "netns": "x"}]), True)


def test_warnings_and_diff(change):
    case = next(case for case in CASES if case["name"].startswith("several devices"))
    devices = change(case["params"], case["commands"])
    assert warnings(devices) == [
        "veth0: not honoured: generic-receive-offload (asked on, is off [requested on])"
    ]
    assert lines(devices, "before") == (
        "veth0 features generic-receive-offload: off\nveth1 features generic-receive-offload: off\n"
    )
    assert lines(devices, "after") == (
        "veth0 features generic-receive-offload: off [requested on]\n"
        "veth1 features generic-receive-offload: on\n"
    )
    case = next(case for case in CASES if case["name"] == "channels")
    assert warnings(change(case["params"], case["commands"])) == [
        "veth0: not honoured: rx (asked 2, is 1) (Invalid argument)"
    ]


def test_what_a_device_cannot_be_set_to_is_said():
    devices = {
        "vxlan0": {
            "fixed": {"features": {"tx-udp_tnl-segmentation": {"asked": True, "active": False}}}
        },
        "eth0": {
            "fixed": {"channels": {"combined": {"asked": 4, "reason": "Operation not supported"}}}
        },
        "eth1": {"fixed": {}},
    }
    assert cannot_vary(devices) == [
        "vxlan0: tx-udp_tnl-segmentation cannot be varied: it is fixed off",
        "eth0: combined cannot be varied: Operation not supported",
    ]
