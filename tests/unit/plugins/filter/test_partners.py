# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter that role measure asks before it changes an MTU."""

from __future__ import annotations

from ansible_collections.offload.lab.plugins.filter.partners import FilterModule
from ansible_collections.offload.lab.plugins.plugin_utils._lab import lab_node

MEMBER = lab_node.members_with_forwarders([{"client": "a", "server": "b"}], {}, [])["a"]


def test_a_partner_is_in_the_play_and_has_the_newest_profile():
    partners = FilterModule().filters()["partners"]
    ready = {"__offload_lab_applied": {"devices": {}}}
    assert partners(MEMBER, {"a": ready, "b": ready}, ["a", "b"]) == ["b"]
    assert partners(MEMBER, {"a": ready, "b": ready}, ["a"]) == []
    assert partners(MEMBER, {"a": ready, "b": {}}, ["a", "b"]) == []
    skipped = {"__offload_lab_applied": {"skipped": True}}
    assert partners(MEMBER, {"a": ready, "b": skipped}, ["a", "b"]) == []
