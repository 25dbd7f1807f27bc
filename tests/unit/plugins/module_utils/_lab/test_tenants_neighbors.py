# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for tenants keeps their permanent neighbours, whatever else it changes at their devices."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._lab.tenants_check import wanted_tenants
from ansible_collections.offload.lab.plugins.module_utils._lab.tenants_plan import (
    plan_present,
    predicted,
    summary,
)
from ansible_collections.offload.lab.tests.unit.plugins.module_utils._lab.tenants_host import (
    HOST,
    Host,
)

FOUR = {"address": "192.168.10.2", "mac": "02:00:00:00:00:02"}
SIX = {"address": "fd00::2", "mac": "02:00:00:00:00:02"}
SET_FOUR = "neigh replace 192.168.10.2 lladdr 02:00:00:00:00:02 dev a-veth0 nud permanent"
SET_SIX = "neigh replace fd00::2 lladdr 02:00:00:00:00:02 dev a-veth0 nud permanent"


def wanted(*neighbors, **more):
    return wanted_tenants(
        [
            dict(
                {
                    "name": "a",
                    "addresses": ["192.168.10.1/24", "fd00::1/64"],
                    "neighbors": neighbors,
                    "mac": "02:00:00:00:00:01",
                },
                **more,
            )
        ],
        8950,
    )


def present(host, tenants):
    """Make the tenants; return the lines of ip."""
    steps = plan_present(host.seen(), "br-int", tenants)
    host.run(steps)
    assert [summary(host.seen(), tenant) for tenant in tenants.values()] == [
        predicted(tenant, "br-int", None) for tenant in tenants.values()
    ]
    assert plan_present(host.seen(), "br-int", tenants) == []
    return [line for step in steps if step.argv[0] == "ip" for line in step.stdin.splitlines()]


@pytest.fixture(name="host")
def _host():
    host = Host()
    present(host, wanted(FOUR, SIX))
    return host


def test_a_new_tenant_gets_them_when_its_device_is_up_and_in_the_same_process():
    host = Host()
    steps = plan_present(host.seen(), "br-int", wanted(FOUR, SIX))
    [inside] = [step.stdin.splitlines() for step in steps if step.netns]
    assert inside[-3:] == [
        "link set dev a-veth0 addrgenmode none alias offload.lab:a up",
        SET_FOUR,
        SET_SIX,
    ]


def test_only_what_is_missing_wrong_or_too_much_is_changed(host):
    assert present(host, wanted(FOUR)) == ["neigh del fd00::2 dev a-veth0"]
    assert present(host, wanted(FOUR, SIX)) == [SET_SIX]
    assert present(host, wanted(dict(FOUR, mac="02:00:00:00:00:09"), SIX)) == [
        "neigh replace 192.168.10.2 lladdr 02:00:00:00:00:09 dev a-veth0 nud permanent"
    ]
    assert present(host, wanted()) == [
        "neigh del 192.168.10.2 dev a-veth0",
        "neigh del fd00::2 dev a-veth0",
    ]


def test_their_order_does_not_matter(host):
    assert present(host, wanted(SIX, FOUR)) == []


@pytest.mark.parametrize(
    "more",
    [
        {"mac": "02:00:00:00:00:99"},
        {"addresses": ["192.168.10.9/24", "fd00::1/64"]},
        {"addresses": ["192.168.10.9/24", "fd00::9/64"]},
    ],
)
def test_what_the_kernel_forgets_with_a_change_is_set_again(host, more):
    assert present(host, wanted(FOUR, SIX, **more))[-2:] == [SET_FOUR, SET_SIX]


def test_what_is_too_much_goes_before_the_kernel_forgets_it(host):
    lines = present(host, wanted(SIX, mac="02:00:00:00:00:99"))
    assert (lines[0], lines[-1]) == ("neigh del 192.168.10.2 dev a-veth0", SET_SIX)


def test_a_recreated_device_gets_them_again(host):
    host.delete(HOST, "a-veth1")
    assert present(host, wanted(FOUR, SIX))[-3:] == [SET_FOUR, SET_SIX, "link set dev a-veth1 up"]


def test_a_tenant_without_a_namespace_has_neighbours_too():
    host = Host()
    inside = wanted(FOUR)
    outside = wanted(FOUR, namespace=False)
    for tenants in (outside, inside, outside):
        assert SET_FOUR in present(host, tenants)
