# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds.devices import (
    Device,
    devices_of_classes,
    parse_devices,
)


def test_names_and_dictionaries():
    items = [
        "eth0",
        {"name": "veth0", "netns": "tenant1", "features": {"tso": True}},
        {"name": "veth0"},
    ]
    assert parse_devices(items, None, {"features": {"tso": False, "gro": True}}) == [
        Device("eth0", "eth0", None, {"features": {"tso": False, "gro": True}}),
        Device("tenant1/veth0", "veth0", "tenant1", {"features": {"tso": True, "gro": True}}),
        Device("veth0", "veth0", None, {"features": {"tso": False, "gro": True}}),
    ]


def test_the_common_namespace_is_the_default():
    assert [device.key for device in parse_devices(["a", {"name": "b", "netns": "y"}], "x")] == [
        "x/a",
        "y/b",
    ]


def test_exact_bits_stand_alone():
    item = {"name": "a", "features_wanted": {"rx-gro-hw": False}}
    (device,) = parse_devices([item], None, {"features": {"tso": True}})
    assert device.requested == {"features_wanted": {"rx-gro-hw": False}}


@pytest.mark.parametrize(
    "items,netns,message",
    [
        (["eth0", "eth0"], None, "eth0: appears twice"),
        (["-K"], None, "'-K': not a usable name for a device"),
        (["*"], None, "'*': not a usable name"),
        (["a b"], None, "not a usable name"),
        (["../x"], None, "not a usable name"),
        ([".."], None, "not a usable name"),
        (["x" * 16], None, "16 characters are too many"),
        (["x" * 10000], None, "xxx...: 10000 characters"),
        (["a:b"], None, "not a usable name"),
        (["a\ud800"], None, "not a usable name"),
        (["a\n"], None, "not a usable name"),
        ([""], None, "not a usable name"),
        ([{}], None, "None: not a usable name"),
        ([{"name": "eth0", "feature": {}}], None, "'feature' is not a key of a device"),
        ([{"name": "eth0", "features": ["tso"]}], None, "eth0, features: "),
        (
            [{"name": "eth0", "features": {"a": True}, "features_wanted": {"a": True}}],
            None,
            "both given",
        ),
        (["eth0"], "../../etc", "not a usable name for a network namespace"),
        (["eth0"], "-all", "not a usable name for a network namespace"),
        ([{"name": "eth0", "netns": "a b"}], None, "not a usable name for a network namespace"),
    ],
)
def test_wrong_devices(items, netns, message):
    with pytest.raises(InputError) as caught:
        parse_devices(items, netns)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


@given(
    st.lists(
        st.one_of(
            st.text(),
            st.dictionaries(st.sampled_from(["name", "netns", "features", "x"]), st.text()),
        )
    )
)
def test_any_items_give_devices_or_an_input_error(items):
    try:
        devices = parse_devices(items)
    except InputError:
        return
    for device in devices:
        assert device.name and not device.name.startswith("-")
        assert "/" not in device.name


CLASSES = {
    "underlay": [{"name": "underlay0"}],
    "tenant": [
        {"name": "tenant1-veth0", "netns": "tenant1"},
        {"name": "tenant2-veth0", "netns": "tenant2"},
    ],
}


def test_settings_by_class_are_settings_of_devices():
    assert devices_of_classes(
        {
            "underlay": {"features": {"tso": False}, "channels": {"combined": 4}},
            "tenant": {"features": {"gro": True}},
        },
        CLASSES,
    ) == [
        {
            "name": "underlay0",
            "netns": None,
            "features": {"tso": False},
            "channels": {"combined": 4},
        },
        {"name": "tenant1-veth0", "netns": "tenant1", "features": {"gro": True}},
        {"name": "tenant2-veth0", "netns": "tenant2", "features": {"gro": True}},
    ]


def test_keys_that_are_no_kind_of_a_device_are_left_out():
    settings = {"tunnel": {"csum": True}, "underlay": {"rps": {"cpus": "all"}}}
    assert devices_of_classes(settings, CLASSES) == [
        {"name": "underlay0", "netns": None, "rps": {"cpus": "all"}}
    ]
    assert devices_of_classes(settings, CLASSES, ["xps"]) == []


def test_classes_of_another_host_are_left_to_it():
    settings = {"underlay": {"features": {"tso": False}}, "host": {"features": {"tso": False}}}
    assert devices_of_classes(settings, CLASSES, elsewhere=["underlay", "host"]) == []
    with pytest.raises(InputError, match="class host"):
        devices_of_classes(settings, CLASSES, elsewhere=["underlay"])


def test_a_device_of_two_classes_is_set_once():
    settings = {
        "underlay": {"features": {"tso": False, "gro": True}},
        "host": {"features": {"tso": True}},
    }
    devices = devices_of_classes(
        settings, {"underlay": [{"name": "eth0"}], "host": [{"name": "eth0", "netns": ""}]}
    )
    assert devices == [{"name": "eth0", "netns": None, "features": {"tso": True, "gro": True}}]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"host": {"features": {"tso": False}}},
            "class host: the node has no device of this class. Use one of node, tenant, und",
        ),
        ({"underlay": 1}, "class underlay, settings: 1 is not a dictionary"),
    ],
)
def test_wrong_settings_by_class(settings, message):
    with pytest.raises(InputError, match=message):
        devices_of_classes(settings, CLASSES)
