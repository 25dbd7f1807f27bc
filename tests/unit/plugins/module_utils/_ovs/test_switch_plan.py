# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for Open vSwitch: started, restarted, stopped only when it is ours to do."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._base.network import OWNER
from ansible_collections.offload.lab.plugins.module_utils._ovs import ovs_state
from ansible_collections.offload.lab.plugins.module_utils._ovs.switch_plan import (
    plan_absent,
    plan_present,
    predict,
    service_of,
    summary,
)

CTL = service_of()
NAMES = dict((" ".join(step.argv[1:]), name) for name, step in CTL.items())
SET_TSO = (
    "set Open_vSwitch . other_config:userspace-tso-enable=true external_ids:offload-lab-tso=set"
)
SET_STARTED = "set Open_vSwitch . external_ids:offload-lab=started"
ADD_BRIDGE = (
    "add-br br-int -- set Bridge br-int datapath_type=netdev -- "
    'set Bridge br-int external_ids:offload-lab="switch"'
)
OURS = {OWNER: "switch"}


def seen(db=True, vswitchd=True, *, bridges=None, ports=None, other_config=None, external_ids=None):
    rows = dict(
        (name, {"name": name, "datapath_type": kind, "external_ids": ids})
        for name, (kind, ids) in (bridges or {}).items()
    )
    state_of_switch = dict(
        (name, {"bridge": "br-int", "external_ids": {OWNER: owner} if owner else {}})
        for name, owner in (ports or {}).items()
    )
    root = {"other_config": other_config or {}, "external_ids": external_ids or {}}
    return {
        "db": db,
        "vswitchd": vswitchd,
        "ovs": dict(ovs_state.empty(), root=root, bridges=rows, ports=state_of_switch),
    }


def names(steps):
    """Steps as short words: the service's by name, transactions by their commands."""
    return [NAMES.get(" ".join(step.argv[1:])) or " ".join(step.argv[2:]) for step in steps]


TSO = {"userspace-tso-enable": "true"}
MINE = {OWNER: "started", "offload-lab-tso": "set"}
UP = {"br-int": ("netdev", OURS)}
PRESENT = {
    "nothing runs": (
        seen(False, False),
        "netdev",
        ["start_db", f"--no-wait {SET_TSO} -- {SET_STARTED}", "start", ADD_BRIDGE],
    ),
    "nothing runs, kernel's datapath": (
        seen(False, False),
        "system",
        ["start_db", "--no-wait " + SET_STARTED, "start", ADD_BRIDGE.replace("netdev", "system")],
    ),
    "idle and without the setting: stopped before it is set": (
        seen(),
        "netdev",
        ["stop_vswitchd", "start_db", "--no-wait " + SET_TSO, "start", ADD_BRIDGE],
    ),
    "idle, kernel's datapath": (seen(), "system", [ADD_BRIDGE.replace("netdev", "system")]),
    "in use by others, who have the setting": (
        seen(bridges={"br-ex": ("", {})}, other_config=TSO),
        "netdev",
        [ADD_BRIDGE],
    ),
    "all there": (seen(bridges=UP, other_config=TSO), "netdev", []),
    "the daemon crashed": (seen(True, False, bridges=UP, other_config=TSO), "netdev", ["start"]),
    "both crashed": (
        seen(False, False, bridges=UP, other_config=TSO, external_ids=MINE),
        "netdev",
        ["start_db", "--no-wait " + SET_STARTED, "start"],
    ),
    "another datapath": (
        seen(bridges={"br-int": ("", OURS)}, other_config=TSO),
        "netdev",
        ["set Bridge br-int datapath_type=netdev"],
    ),
    "no type is the kernel's": (seen(bridges={"br-int": ("", OURS)}), "system", []),
}
ABSENT = {
    "all ours": (
        seen(bridges=UP, other_config=TSO, external_ids=MINE),
        [
            "del-br br-int -- remove Open_vSwitch . other_config userspace-tso-enable -- "
            "remove Open_vSwitch . external_ids offload-lab offload-lab-tso",
            "stop",
        ],
    ),
    "nothing ours": (seen(bridges={"br-ex": ("", {})}, other_config=TSO), []),
    "a bridge of that name is somebody's": (seen(bridges={"br-int": ("", {})}), []),
    "ran before we came": (
        seen(bridges=UP, external_ids={"offload-lab-tso": "set"}, other_config=TSO),
        [
            "del-br br-int -- remove Open_vSwitch . other_config userspace-tso-enable -- "
            "remove Open_vSwitch . external_ids offload-lab-tso",
            "stop_vswitchd",
            "start_db",
            "start",
        ],
    ),
    "others use it by now": (
        seen(bridges=dict(UP, br_ex=("", {})), external_ids={OWNER: "started"}),
        ["del-br br-int -- remove Open_vSwitch . external_ids offload-lab"],
    ),
    "the daemon crashed": (
        seen(True, False, bridges=UP, external_ids={OWNER: "started"}),
        ["start", "del-br br-int -- remove Open_vSwitch . external_ids offload-lab", "stop"],
    ),
    "the daemon of somebody else crashed": (
        seen(True, False, bridges=UP),
        ["start", "del-br br-int", "stop_vswitchd"],
    ),
    "both crashed": (seen(False, False, bridges=UP), ["start", "del-br br-int", "stop"]),
    "both crashed, with a bridge of others": (
        seen(False, False, bridges=dict(UP, br_ex=("", {}))),
        ["start_db", "--no-wait del-br br-int", "stop"],
    ),
    "stopped, nothing ours": (seen(False, False), []),
}


@pytest.mark.parametrize("name", sorted(PRESENT))
def test_present(name):
    before, datapath, steps = PRESENT[name]
    assert names(plan_present(before, "br-int", datapath, CTL)) == steps


@pytest.mark.parametrize("name", sorted(ABSENT))
def test_absent(name):
    before, steps = ABSENT[name]
    assert names(plan_absent(before, "br-int", CTL)) == steps


def test_a_bridge_that_is_not_ours_is_refused():
    with pytest.raises(InputError, match="not ours"):
        plan_present(seen(bridges={"br-int": ("netdev", {})}), "br-int", "netdev", CTL)


def test_no_restart_under_other_bridges():
    with pytest.raises(InputError, match="br-ex"):
        plan_present(seen(bridges={"br-ex": ("", {})}), "br-int", "netdev", CTL)


def test_ports_of_others_keep_the_bridge():
    with pytest.raises(InputError, match="not ours: eth5"):
        plan_absent(
            seen(bridges=UP, ports={"vxlan0": "tunnel", "br-int": None, "eth5": None}),
            "br-int",
            CTL,
        )


def test_by_systemd():
    steps = plan_present(seen(False, False), "br-int", "netdev", service_of("openvswitch-switch"))
    assert [step.argv for step in steps if step.argv[0] == "systemctl"] == [
        ["systemctl", "start", "ovsdb-server"],
        ["systemctl", "start", "ovs-vswitchd", "openvswitch-switch"],
    ]


def test_summary_and_prediction():
    before = seen(bridges=UP, other_config=TSO, external_ids=MINE)
    assert summary(before, "br-int") == {
        "running": True,
        "userspace_tso": True,
        "datapath": "netdev",
    }
    assert predict(before, "br-int", None) == {
        "running": False,
        "userspace_tso": False,
        "datapath": None,
    }
    assert predict(seen(False, False), "br-int", "netdev") == summary(before, "br-int")
