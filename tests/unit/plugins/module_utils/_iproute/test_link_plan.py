# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for MTU and state of links."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._iproute.link_plan import (
    plan,
    wanted_devices,
)


def link(name, mtu=1500, up=True):
    return {"name": name, "mtu": mtu, "up": up, "min_mtu": 68, "max_mtu": 9000}


LINKS = {
    None: {"eth1": link("eth1"), "eth2": link("eth2", up=False)},
    "t1": {"eth0": link("eth0", 9000)},
}


def test_one_process_for_each_namespace():
    devices = wanted_devices(
        [{"name": "eth1"}, {"name": "eth2", "up": True}, {"name": "eth0", "netns": "t1"}], mtu=1400
    )
    before, after, steps = plan(LINKS, devices)
    assert [(step.netns, step.argv, step.stdin) for step in steps] == [
        (
            None,
            ["ip", "-batch", "-"],
            "link set dev eth1 mtu 1400\nlink set dev eth2 mtu 1400 up\n",
        ),
        ("t1", ["ip", "-batch", "-"], "link set dev eth0 mtu 1400\n"),
    ]
    assert before["t1/eth0"] == {"mtu": 9000, "up": True}
    assert after == {
        "eth1": {"mtu": 1400, "up": True},
        "eth2": {"mtu": 1400, "up": True},
        "t1/eth0": {"mtu": 1400, "up": True},
    }


def test_down():
    assert (
        plan(LINKS, wanted_devices([{"name": "eth1"}], up=False))[2][0].stdin
        == "link set dev eth1 down\n"
    )


@pytest.mark.parametrize("options", [{}, {"mtu": 1500}, {"up": True}])
def test_nothing_to_do(options):
    before, after, steps = plan(LINKS, wanted_devices([{"name": "eth1"}], **options))
    assert (before, steps) == (after, [])


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([{"name": "nope"}], "no such network device"),
        ([{"name": "eth1", "mtu": 9001}], "Use 68 to 9000"),
        ([{"name": "eth1", "mtu": 67}], "out of the device's range"),
        ([{"name": "eth1"}, {"name": "eth1"}], "2 times"),
        ([{"name": "eth1"}, {"name": "-x"}], "not a usable name"),
        ([{"name": "e", "netns": "../x"}], "not a usable name"),
    ],
)
def test_bad_input(devices, message):
    with pytest.raises(InputError, match=message):
        plan(LINKS, wanted_devices(devices))
