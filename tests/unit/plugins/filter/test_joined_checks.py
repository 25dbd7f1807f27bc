# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the campaigns of playbook integrity say together."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.filter.joined_checks import joined_checks

HOP = [[{"settings": ["tx"], "side": "client", "devices": "underlay"}]]


def row(verdict="broken", hops=(), path="pods"):
    return {"path": path, "mtu": 1450, "verdict": verdict, "hops": list(hops)}


def cure(name, confirmed=False):
    return {"off": {name: "off"}, "confirmed": confirmed}


def test_the_verdict_is_the_checks_and_hop_and_cure_are_the_steps():
    check = {"paths": [row(), row("clean", path="physical")], "cure": cure("tx")}
    hop = {"paths": [row("suspect", HOP)], "cure": cure("tx_at_client_underlay")}
    again = {"paths": [row("clean")], "cure": cure("tx_at_client_underlay", True)}
    found = joined_checks([check, hop, hop, again])
    assert found["paths"] == [row(hops=HOP), row("clean", path="physical")]
    assert found["cure"] == again["cure"]


def test_a_step_that_names_nothing_changes_nothing():
    check = {"paths": [row()], "cure": cure("tx")}
    assert joined_checks([check, {"paths": [row("suspect")]}]) == check
    assert joined_checks([{"paths": []}]) == {"paths": []}


def test_what_is_no_answer_is_refused():
    with pytest.raises(AnsibleFilterError, match="no answer of module report"):
        joined_checks([{}])
