# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._restore import applied

BEFORE = {
    "schema": 1,
    "links": [{"name": "eth1", "netns": None, "mtu": 9000}],
    "devices": [
        {
            "name": "eth1",
            "netns": None,
            "features_wanted": {"tx-tcp-segmentation": True, "rx-gro": False},
            "rings": {"rx": 256, "tx": 256},
            "coalesce": {"rx-usecs": 3},
            "rps": {"rx-0": "0", "rx-1": "0"},
        },
        {"name": "eth2", "netns": None, "features_wanted": {"rx-gro": False}},
    ],
    "other": {
        "ovs": {},
        "vxlan": {},
    },
}
NOW = [
    {
        "name": "eth1",
        "netns": None,
        "features_wanted": {"tx-tcp-segmentation": True, "rx-gro": True},
        "rings": {"rx": 4096, "tx": 256},
        "coalesce": {"rx-usecs": 3},
        "rps": {"rx-0": "f", "rx-1": "0"},
    },
    BEFORE["devices"][1],
]


def test_only_what_changed_is_kept():
    kept = applied.originals(BEFORE, NOW)
    assert kept == {
        "schema": 2,
        "links": [],
        "devices": [
            {
                "name": "eth1",
                "netns": None,
                "features_wanted": {"rx-gro": False},
                "rings": {"rx": 256},
                "rps": {"rx-0": "0"},
            }
        ],
        "other": {},
    }


def test_nothing_changed_keeps_nothing():
    kept = applied.originals(BEFORE, BEFORE["devices"])
    assert applied.merge(None, kept) is None


def test_the_first_original_stays():
    first = applied.originals(BEFORE, NOW)
    later = [dict(NOW[0], features_wanted={"tx-tcp-segmentation": False, "rx-gro": False}), NOW[1]]
    second = applied.originals(dict(BEFORE, devices=NOW), later)
    assert second["devices"][0]["features_wanted"] == {"tx-tcp-segmentation": True, "rx-gro": True}
    (device,) = applied.merge(first, second)["devices"]
    assert device == {
        "name": "eth1",
        "netns": None,
        "rings": {"rx": 256},
        "rps": {"rx-0": "0"},
        "features_wanted": {"tx-tcp-segmentation": True, "rx-gro": False},
    }


def test_a_device_that_is_gone_has_no_originals():
    assert applied.originals(BEFORE, [])["devices"] == []


def test_what_was_set_is_recorded_and_the_newer_value_wins():
    first = applied.originals(BEFORE, NOW)
    set_now = applied.settings_now(first["devices"], NOW)
    assert set_now == [
        {
            "name": "eth1",
            "netns": None,
            "features_wanted": {"rx-gro": True},
            "rings": {"rx": 4096},
            "rps": {"rx-0": "f"},
        }
    ]
    recorded = applied.record(None, set_now, 1.0, "boot1")
    later = [{"name": "eth1", "netns": None, "rings": {"rx": 512}}]
    assert applied.record(recorded, later, 2.0, "boot2") == {
        "since": 2.0,
        "boot_id": "boot2",
        "devices": [{**set_now[0], "rings": {"rx": 512}}],
    }


def test_drift():
    applied_now = [
        {"name": "eth1", "netns": None, "features_wanted": {"rx-gro": True}, "rings": {"rx": 4096}},
        {"name": "veth0", "netns": "t1", "features_wanted": {"rx-gro": True}},
    ]
    there = [
        {"name": "eth1", "netns": None, "features_wanted": {"rx-gro": True}, "rings": {"rx": 256}}
    ]
    assert applied.drift(applied_now, there) == [
        {
            "device": "eth1",
            "settings": 2,
            "missing": False,
            "drifted": [{"kind": "rings", "name": "rx", "applied": 4096, "now": 256}],
        },
        {"device": "t1/veth0", "settings": 1, "missing": True, "drifted": []},
    ]


def test_after_a_reboot_only_what_is_still_applied_is_taken_back():
    """The host's own configuration has set rings; the boot has set GRO, and somebody coalescing."""
    kept = [
        {
            "name": "eth1",
            "netns": None,
            "features_wanted": {"rx-gro": False},
            "rings": {"rx": 256, "tx": 128},
            "coalesce": {"rx-usecs": 3},
        },
        {"name": "eth2", "netns": None, "features_wanted": {"rx-gro": False}},
    ]
    set_then = [
        {
            "name": "eth1",
            "netns": None,
            "features_wanted": {"rx-gro": True},
            "rings": {"rx": 4096, "tx": 4096},
            "coalesce": {"rx-usecs": 50},
        },
        {"name": "eth2", "netns": None, "features_wanted": {"rx-gro": True}},
    ]
    now = [
        {
            "name": "eth1",
            "netns": None,
            "features_wanted": {"rx-gro": False},
            "rings": {"rx": 4096, "tx": 512},
            "coalesce": {"rx-usecs": 7},
        },
        {"name": "eth2", "netns": None, "features_wanted": {"rx-gro": False}},
    ]
    assert applied.still_applied(kept, set_then, now) == [
        {"name": "eth1", "netns": None, "rings": {"rx": 256}}
    ]
