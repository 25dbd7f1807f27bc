# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is harmed in a rollout, what is reverted, and 50 simulated rollouts to 30 hosts, three of them liars."""

from __future__ import annotations

import json
import random

import pytest
from ansible.errors import AnsibleFilterError
from ansible.utils.helpers import pct_to_int

from ansible_collections.offload.lab.plugins.filter.rollout import rollout

CLEAN = [{"path": "physical", "trouble": ""}]
WRONG = [{"path": "physical", "trouble": "the payload arrived wrong"}]
DEFAULT = (1, "10%", "100%")


def report(**hosts):
    return json.loads(rollout(hosts, "json"))


def host(batch, before, after=None, **more):
    return {"batch": batch, "before": before, "after": after or [], **more}


def counted(drops):
    """Return what module traffic_info returns, with one reason of drops."""
    drop = {"reason": "TCP_CSUM", "place": "tcp_v4_rcv", "count": drops}
    return {
        "counted": {
            "seconds": 2.0,
            "devices": {},
            "traced": {"devices": {}, "host": {}, "drops": [drop] if drops else []},
            "cost": {},
        }
    }


def states(document):
    return {name: row["state"] for name, row in document["hosts"].items()}


def test_a_new_fault_reverts_its_batch_alone():
    document = report(
        a=host("a", CLEAN, CLEAN), b=host("b", CLEAN, WRONG), c=host("b", CLEAN, CLEAN), d={}
    )
    assert states(document) == {"a": "applied", "b": "reverted", "c": "reverted", "d": "not begun"}
    texts = [sentence["text"] for sentence in document["answer"]]
    assert texts[:2] == [
        "b: physical: the payload arrived wrong.",
        "Batch 2 (2 hosts) is reverted, and the rollout stops. The settings stay on 1 of 4 hosts.",
    ]


def test_a_fault_that_was_there_before_is_not_the_rollouts():
    document = report(a=host("a", WRONG, WRONG), b=host("b", WRONG, CLEAN))
    assert states(document) == {"a": "applied", "b": "applied"}
    assert document["hosts"]["a"]["harm"] == ""


def test_a_fault_on_another_path_is_new():
    tunnel = [*WRONG, {"path": "tenant_vxlan", "trouble": "the path stopped answering"}]
    document = report(a=host("a", WRONG, tunnel))
    assert document["hosts"]["a"]["harm"] == "tenant_vxlan: the path stopped answering"


@pytest.mark.parametrize(
    "before, after, state",
    [(0, 0, "applied"), (0, 3, "reverted"), (3, 5, "applied"), (3, 0, "applied")],
)
def test_drops_of_the_hosts_own_traffic(before, after, state):
    """The number of drops alone is no new fault."""
    document = report(a=host("a", [counted(before)], [counted(after)]))
    assert states(document) == {"a": state}


def test_a_host_that_cannot_be_reverted_is_named():
    document = report(
        a=host("a", CLEAN, error="the host did not answer", revert_error="no connection")
    )
    assert states(document) == {"a": "could not be reverted"}
    assert "a could not be reverted: no connection" in [item["text"] for item in document["answer"]]


def test_texts_of_hosts_cannot_change_the_page():
    trouble = [{"path": "physical", "trouble": "<script>alert(1)</script>\x1b[2J"}]
    hosts = {"a": host("a", CLEAN, trouble)}
    assert "<script>alert" not in rollout(hosts, "html")
    assert "\x1b" not in rollout(hosts, "text")
    with pytest.raises(AnsibleFilterError, match="Use text, html, json"):
        rollout(hosts, "pdf")


def batches_of(names, serial):
    """Return the batches that Ansible makes; the last size is repeated."""
    sizes = [pct_to_int(size, len(names)) for size in serial]
    batches, left = [], list(names)
    while left:
        size = sizes[min(len(batches), len(sizes) - 1)]
        batches.append(left[:size])
        left = left[size:]
    return batches


@pytest.mark.parametrize("serial", [DEFAULT, (1,), (5,), ("20%",), ("100%",)])
def test_never_more_than_one_batch_is_harmed(serial):
    """In 50 rollouts the lies begin with the settings; tests/system/test_rollout.py has real hosts."""
    names = [f"node{number}" for number in range(1, 31)]
    for seed in range(50):
        chance = random.Random(seed)
        chance.shuffle(names)
        liars = set(chance.sample(names, 3))
        facts = {name: {} for name in names}
        begun = []
        for batch in batches_of(names, serial):
            for name in batch:
                facts[name] = host(batch[0], CLEAN, WRONG if name in liars else CLEAN)
            begun.append(set(batch))
            if any(row["harm"] for row in report(**facts)["hosts"].values()):
                break
        state_of = states(report(**facts))
        assert [batch for batch in begun if batch & liars] == begun[-1:]
        kept = {name for name, state in state_of.items() if state == "applied"}
        assert kept == set().union(*begun[:-1])
        assert not kept & liars
