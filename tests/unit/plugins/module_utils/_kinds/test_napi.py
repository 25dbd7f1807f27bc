# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of each NAPI instance, with messages as Linux 6.18 sent them for a veth of two queues."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._base.steps import Step, shown
from ansible_collections.offload.lab.plugins.module_utils._host import netlink
from ansible_collections.offload.lab.plugins.module_utils._host.runner import apply
from ansible_collections.offload.lab.plugins.module_utils._kinds import napi_netlink
from ansible_collections.offload.lab.plugins.module_utils._kinds.kinds import DEVICE_KINDS
from ansible_collections.offload.lab.plugins.module_utils._kinds.napi import (
    THREADED_OF_NAPI,
    OfNapi,
)

NAPIS = [
    {2: 3441, 1: 3, 8: 0, 5: 0, 7: 0, 6: 0},
    {2: 3442, 1: 3, 8: 1, 4: 0, 5: 0, 7: 1000000, 6: 5},
]
KINDS = [kind for kind in DEVICE_KINDS.values() if isinstance(kind, OfNapi)]


def answer_of(napi):
    """Return a message of the kernel."""
    sizes = napi_netlink.SIZES
    return b"".join(
        netlink.attribute(kind, value.to_bytes(sizes.get(kind, 4), "little"))
        for kind, value in napi.items()
    )


def plan(group, settings, napis=None):
    kind = DEVICE_KINDS[group]
    state = kind.of_instances(NAPIS if napis is None else napis)
    return kind.plan({group: settings}, state, "eth0", report_fixed=False)


def test_instances_are_in_the_order_of_their_queues():
    answers = [napi_netlink.napi_of(answer_of(napi)) for napi in reversed(NAPIS)]
    assert napi_netlink.by_device([*answers, {}]) == {3: NAPIS}


@given(st.binary(max_size=200))
def test_any_answer_is_read(data):
    napis = napi_netlink.by_device([napi_netlink.napi_of(data)])
    for kind in KINDS:
        for instances in napis.values():
            assert kind.of_instances(instances)["supported"] in (True, False)


@pytest.mark.parametrize(
    "group, settings, words",
    [
        ("irq_suspend_timeout", {"ns": 1000000}, ["napi-0 irq-suspend-timeout 1000000"]),
        ("irq_suspend_timeout", {"napi-1": 0}, ["napi-1 irq-suspend-timeout 0"]),
        ("napi_gro_flush_timeout", {"ns": "5"}, ["napi-0 gro-flush-timeout 5"]),
        ("napi_threaded", {"napi": True}, ["napi-0 threaded on"]),
        ("napi_threaded", {"napi-1": "busy-poll"}, ["napi-1 threaded busy-poll"]),
    ],
)
def test_what_is_called(group, settings, words):
    change = plan(group, settings)["change"]
    calls = DEVICE_KINDS[group].calls(change, "eth0")
    assert [" ".join(call.words) for call in calls] == [
        f"netlink netdev napi-set eth0 {text}" for text in words
    ]


@pytest.mark.parametrize(
    "group, settings, message",
    [
        ("napi_threaded", {"napi": "sleep"}, "Use one of off, on, busy-poll"),
        ("irq_suspend_timeout", {"ns": -1}, "not between 0"),
        ("irq_suspend_timeout", {"x": 1}, "is not a setting of irq_suspend_timeout"),
    ],
)
def test_what_is_refused(group, settings, message):
    with pytest.raises(InputError, match=message):
        plan(group, settings)


def test_a_kernel_without_busy_polling():
    kind = DEVICE_KINDS["napi_threaded"]
    wanted = plan("napi_threaded", {"napi": "busy-poll"})
    assert "6.19" in kind.refused(wanted, kind.of_instances(NAPIS))["napi"]["reason"]
    polling = [{**napi, 8: 2} for napi in NAPIS]
    assert kind.refused(wanted, kind.of_instances(polling)) == {}
    assert kind.refused(plan("napi_threaded", {"napi": True}), kind.of_instances(NAPIS)) == {}


def test_a_kernel_that_lacks_it():
    old = [{1: 3, 2: 3441}]
    with pytest.raises(InputError, match="no irq-suspend-timeout of NAPI"):
        plan("irq_suspend_timeout", {"ns": 1}, old)
    with pytest.raises(InputError, match="lists no NAPI instance"):
        plan("irq_suspend_timeout", {"ns": 1}, [])


def test_a_call_is_a_step_and_its_refusal_a_result():
    def refuse():
        raise OSError(errno.ERANGE, "Numerical result out of range")

    [bad, good] = apply(
        [Step(["netlink"], check=False, call=refuse), Step(["netlink"], call=lambda: None)]
    )
    assert (bad.rc, bad.err, good.rc) == (1, "Numerical result out of range", 0)
    [listed] = shown([Step(["netlink", "x"], netns="ns1", call=refuse)])
    assert listed["argv"] == ["netlink", "x", "netns", "ns1"]


def test_an_instance_that_is_gone(monkeypatch):
    monkeypatch.setattr(napi_netlink, "read", dict)
    with pytest.raises(OSError, match="No such file"):
        napi_netlink.set_number("eth0", 0, THREADED_OF_NAPI, 1)


def test_this_kernel_answers():
    assert isinstance(napi_netlink.read(), dict)
