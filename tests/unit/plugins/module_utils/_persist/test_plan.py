# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._persist import managers, plan
from ansible_collections.offload.lab.plugins.module_utils._persist.lasting import (
    is_port_of_container,
    merge,
)

SETTINGS = {
    "features": {
        "tx-tcp-segmentation": True,
        "generic-receive-offload": False,
        "tx-udp_tnl-segmentation": True,
    },
    "rings": {"rx": 4096},
    "coalesce": {"rx-usecs": 8},
    "rps": {"rx-0": "f", "rx-1": "f"},
}
DEFAULT_LINK = """#  This file is part of systemd.
[Match]
OriginalName=*

[Link]
NamePolicy=keep kernel database onboard slot path
AlternativeNamesPolicy=database onboard slot path
MACAddressPolicy=persistent
"""
LINK = plan.Seen(
    "systemd_link",
    "PermanentMACAddress=02:00:00:00:00:01",
    "/usr/lib/systemd/network/99-default.link",
    DEFAULT_LINK,
)
LINK_PATH = "/etc/systemd/network/00-offload-lab-eth1.link"
UNIT_PATH = "/etc/systemd/system/offload-lab-eth1.service"


def test_a_link_file_repeats_the_one_in_use():
    files, _properties, notes = plan.wanted_of("eth1", SETTINGS, LINK)
    assert managers.sections(files[LINK_PATH]) == {
        "Match": ["PermanentMACAddress=02:00:00:00:00:01"],
        "Link": [
            "NamePolicy=keep kernel database onboard slot path",
            "AlternativeNamesPolicy=database onboard slot path",
            "MACAddressPolicy=persistent",
            "GenericReceiveOffload=false",
            "RxBufferSize=4096",
            "TCPSegmentationOffload=true",
        ],
    }
    assert managers.link_base(files[LINK_PATH]) == LINK.base
    assert notes == [
        "eth1: systemd_link cannot express rps, rx-usecs, tx-udp_tnl-segmentation; unit "
        "offload-lab-eth1.service sets it"
    ]


def test_the_unit_has_what_is_left():
    unit = plan.wanted_of("eth1", SETTINGS, LINK).files[UNIT_PATH]
    assert [line for line in unit.splitlines() if line.startswith("ExecStart=")] == [
        "ExecStart=ethtool -C eth1 rx-usecs 8",
        "ExecStart=ethtool -K eth1 tx-udp_tnl-segmentation on",
        'ExecStart=/bin/sh -c "for queue in /sys/class/net/eth1/queues/rx-*/rps_cpus; do echo f >$$queue; done"',
    ]


@pytest.mark.parametrize("name, device", [("flannel.1", "flannel.1"), ("br-ex", r"br\x2dex")])
def test_the_unit_is_started_whenever_the_device_appears(name, device):
    """A unit that stays active after it has run would not be started for a device that comes back."""
    unit = managers.sections(managers.unit(name, SETTINGS))
    wanted_by = f"WantedBy=multi-user.target sys-subsystem-net-devices-{device}.device"
    assert unit["Install"] == [wanted_by]
    assert f"ConditionPathExists=/sys/class/net/{name}" in unit["Unit"]
    assert unit["Service"][0] == "Type=oneshot"
    assert not any(line.startswith("RemainAfterExit") for line in unit["Service"])
    assert "StartLimitIntervalSec=0" in unit["Unit"]


def test_our_own_keys_win_over_those_of_the_file_in_use():
    state_of_host = LINK._replace(
        base_text="[Link]\nRxBufferSize=512\nMTUBytes=9000\n[SR-IOV]\nVirtualFunction=0\n"
    )
    text = plan.wanted_of("eth1", {"rings": {"rx": 4096}}, state_of_host).files[LINK_PATH]
    assert managers.sections(text)["Link"] == ["MTUBytes=9000", "RxBufferSize=4096"]
    assert managers.sections(text)["SR-IOV"] == ["VirtualFunction=0"]


def test_properties_of_a_connection():
    state_of_host = plan.Seen("networkmanager", connection="uuid-1")
    files, properties, _notes = plan.wanted_of("eth1", SETTINGS, state_of_host)
    assert properties == {
        "uuid-1": {
            "ethtool.feature-tx-tcp-segmentation": "on",
            "ethtool.feature-gro": "off",
            "ethtool.feature-tx-udp_tnl-segmentation": "on",
            "ethtool.ring-rx": "4096",
        }
    }
    assert list(files) == [UNIT_PATH]
    assert "tx-udp_tnl" not in files[UNIT_PATH]


def test_a_script_of_ifupdown_has_everything():
    (text,) = plan.wanted_of("eth1.7", SETTINGS, plan.Seen("ifupdown")).files.values()
    assert text.startswith("#!/bin/sh\n")
    assert "ethtool -K eth1.7 tx-tcp-segmentation on gro off tx-udp_tnl-segmentation on\n" in text
    assert "echo f >$queue" in text


def test_a_host_without_any_is_told():
    assert plan.wanted_of("eth1", SETTINGS, plan.Seen("none")) == (
        {},
        {},
        ["eth1: nothing was written, the settings last until the next reboot"],
    )


@pytest.mark.parametrize(
    "name,expected",
    [("eth1", "eth1"), ("br-ex", r"br\x2dex"), ("eth0.7", "eth0.7"), (".a", r"\x2ea")],
)
def test_names_of_units(name, expected):
    assert managers.escaped(name) == expected


def test_nmcli_is_read():
    assert managers.parse_device("yes\nuuid-1\n") == "uuid-1"
    assert managers.parse_device("no\n\n") is None
    assert managers.parse_device("yes\n\n") is None
    assert managers.parse_properties("on\n\n", ["a", "b"]) == {"a": "on", "b": ""}


def way(state, settings, files, properties):
    changes = plan.file_changes(state, settings, files)
    return changes, plan.steps(changes, plan.property_changes(state, settings, properties))


def test_there_and_back():
    settings = plan.together(
        [
            plan.wanted_of("eth1", SETTINGS, LINK),
            plan.wanted_of("eth2", SETTINGS, plan.Seen("networkmanager", connection="u")),
        ]
    )
    files = {LINK_PATH: "of the user\n"}
    properties = {"u": {"ethtool.feature-gro": "on"}}
    state = plan.next_state(plan.empty(), {}, settings, files, properties)
    changes, (before, after) = way(plan.empty(), settings, files, properties)
    assert before == [] and after[:2] == [
        ["udevadm", "control", "--reload"],
        ["systemctl", "daemon-reload"],
    ]
    written = {path: text for path, text in changes.items() if text is not None}
    now = {"u": settings.properties["u"]}
    assert way(state, settings, written, now) == ({}, ([], []))
    assert plan.next_state(state, {}, settings, written, now) == state
    gone, (disable, undo) = way(state, plan.together([]), written, now)
    assert gone[LINK_PATH] == "of the user\n" and gone[UNIT_PATH] is None
    assert ["systemctl", "disable", "--quiet", "offload-lab-eth1.service"] in disable
    assert undo[-1] == [
        "nmcli",
        "connection",
        "modify",
        "u",
        "ethtool.feature-gro",
        "on",
        "ethtool.feature-tx-tcp-segmentation",
        "",
        "ethtool.feature-tx-udp_tnl-segmentation",
        "",
        "ethtool.ring-rx",
        "",
    ]


def test_a_file_that_somebody_changed_is_not_overwritten():
    state = dict(plan.empty(), files={LINK_PATH: {"before": None, "written": "ours"}})
    plan.check_unchanged(state, {LINK_PATH: None})
    with pytest.raises(LabError, match="somebody has changed"):
        plan.check_unchanged(state, {LINK_PATH: "theirs"})


def test_settings_add_up():
    old = {"eth1": {"features": {"a": True, "b": True}, "rps": {"rx-0": "1"}}}
    assert merge(old, {"eth1": {"features": {"b": False}, "rps": {"rx-0": "f"}}}) == {
        "eth1": {"features": {"a": True, "b": False}, "rps": {"rx-0": "f"}}
    }


def test_the_same_settings_give_the_same_script_again():
    settings = {"eth1": {"features": {"tso": False, "gro": True}}}
    first = merge({}, settings)
    kept = json.loads(json.dumps(first, sort_keys=True))  # as the file of the originals has it
    again = merge(kept, settings)
    scripts = [managers.script("eth1", settings["eth1"]) for settings in (first, again)]
    assert scripts[0] == scripts[1]


LEFT_OUT = {"veth1": "it is the port of a container"}


def test_how_long_settings_last():
    kinds = {"eth1": "networkmanager", "flannel.1": "systemd_link", "eth2": "none"}
    assert plan.lasting(kinds, LEFT_OUT) == (
        "Set again after a reboot and when the device is recreated: eth1 (by NetworkManager), flannel.1 (by "
        "systemd). Only until the next reboot, or until the device is deleted: eth2 (NetworkManager and ifupdown "
        "do not configure it, and udev does not run), veth1 (it is the port of a container)."
    )


@pytest.mark.parametrize(
    ("kinds", "left_out"), [({"eth1": "none"}, {}), ({}, LEFT_OUT), ({"eth1": "none"}, LEFT_OUT)]
)
def test_what_nothing_can_keep_is_refused(kinds, left_out):
    with pytest.raises(LabError, match="nothing on this host can keep the settings"):
        plan.check_possible(kinds, left_out)


@pytest.mark.parametrize(
    ("kinds", "left_out"), [({"eth1": "none", "eth2": "ifupdown"}, LEFT_OUT), ({}, {})]
)
def test_what_some_device_can_keep_is_not_refused(kinds, left_out):
    plan.check_possible(kinds, left_out)


@pytest.mark.parametrize(
    ("link", "port"),
    [
        ({"master": "cni0"}, True),
        ({}, True),
        ({"global": ["192.0.2.1"]}, False),  # of a host that is a container
        ({"peer_netns": None, "master": "br0"}, False),
        ({"kind": "vxlan"}, False),
    ],
)
def test_the_port_of_a_container(link, port):
    usual = {"kind": "veth", "peer_netns": 3, "master": None, "global": []}
    assert is_port_of_container({**usual, **link}) == port
