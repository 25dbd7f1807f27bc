# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the report names settings and sets."""

from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils._report import phrases

OFFLOADS = ("tx", "sg", "tso", "gso", "rx", "gro", "lro")


def test_a_few_settings_are_listed_and_many_by_level_and_none_is_left_out():
    assert phrases.settings({"tso": "on", "gro": "off"}) == "tso=on and gro=off"
    assert phrases.settings(dict.fromkeys(OFFLOADS, "on")) == "tx, sg, tso, gso, rx, gro and lro on"
    assert phrases.settings({f"f{number}": "on" for number in range(40)}).endswith(
        "f10, f11 and 28 more on"
    )
    assert phrases.settings({**dict.fromkeys(OFFLOADS, "on"), "lro": "off", "rps": "all"}) == (
        "tx, sg, tso, gso, rx and gro on; lro=off; rps=all"
    )


def test_a_set_of_many_is_called_by_what_it_lacks_and_a_name_of_the_user_stays():
    factors = [{"name": name, "levels": ["off", "on"]} for name in OFFLOADS]
    on = dict.fromkeys(OFFLOADS, "on")
    generated = ",".join(f"{name}=on" for name in OFFLOADS)
    off = dict.fromkeys(OFFLOADS, "off")
    profiles = {
        "all_off": off,
        generated: on,
        "tso=on": {**off, "tso": "on"},
        generated.replace(",gro=on", ""): {**on, "gro": "off"},
        "the set that was in use until the last upgrade": on,
    }
    names = phrases.set_names(factors, profiles, None)
    assert list(names.values()) == [
        "all_off",
        "all_on",
        "tso=on",
        "all_on but gro",
        list(profiles)[-1],
    ]


def test_imported_profiles_without_levels_keep_their_names():
    assert phrases.set_names([], {"tso=on,gro=on,rx=on": {}}, None) == {
        "tso=on,gro=on,rx=on": "tso=on,gro=on,rx=on"
    }


def test_a_set_that_a_search_predicted_and_never_visited_has_a_name_too():
    factors = [{"name": name, "levels": ["off", "on"]} for name in OFFLOADS]
    best = ",".join(f"{name}=on" for name in OFFLOADS[:-1])
    nominee = {
        "name": best.replace(",gro=on", ",lro=on"),
        "levels": {**dict.fromkeys(OFFLOADS, "on"), "gro": "off"},
    }
    search = {
        "rounds": [{"standing": {"best": best}}, {"standing": {"best": None}}],
        "standing": None,
        "nominees": [nominee],
    }
    assert phrases.set_names(factors, {}, search) == {
        best: "all_on but lro",
        nominee["name"]: "all_on but gro",
    }
