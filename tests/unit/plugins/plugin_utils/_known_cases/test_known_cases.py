# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The known cases: each is whole, the page has all of them, and each is found where it is like what
is here.
"""

from __future__ import annotations

import re

import pytest

from ansible_collections.offload.lab.plugins.module_utils._nodes import faults
from ansible_collections.offload.lab.plugins.plugin_utils._known_cases.known_cases import (
    KnownHost,
    known_cases,
    like,
    of_host,
)
from ansible_collections.offload.lab.tests.support import CHECKOUT

PAGE = (CHECKOUT / "docs/known-cases.md").read_text()


def row(case):
    """Return a case as the page has it."""
    first = case.from_kernel
    last = case.to_kernel
    kernels = f"{first} to {last}" if last else f"{first} and later"
    kernels = {(True, False): "any", (True, True): f"up to {last}"}.get(
        (not first, bool(last)), first if first == last else kernels
    )
    cells = [
        f"[{case.name}]({case.link})",
        ", ".join(case.drivers) or "any",
        kernels,
        ", ".join(case.encapsulations) or "any",
        ", ".join(f"`{setting}`" for setting in case.settings),
        case.reported,
        case.cure,
    ]
    return f"| {' | '.join(cells)} |"


def test_the_page_has_the_cases():
    rows = [line for line in PAGE.splitlines() if line.startswith("| [")]
    assert rows == [row(case) for case in known_cases()]
    assert len(rows) >= 20


def test_the_page_names_those_that_are_played():
    played = ", ".join(f"`{case.name}`" for case in known_cases() if case.fault)
    assert f"These cases can be played: {played}.\n" in PAGE


@pytest.mark.parametrize("case", known_cases(), ids=lambda case: case.name)
def test_a_case_is_whole(case):
    assert re.fullmatch(r"[a-z0-9-]+-\d+", case.name)
    assert re.fullmatch(r"https://github\.com/[^/]+/[^/]+/(issues|pull)/\d+", case.link)
    assert case.name.rpartition("-")[2] == case.link.rpartition("/")[2]
    assert case.settings
    assert case.drivers or case.encapsulations or case.to_kernel  # else it would be like anything
    assert not case.fault or faults.parse(case.fault)
    assert case.reported.endswith(".") and case.cure.endswith(".")


def test_names_are_unique():
    names = [case.name for case in known_cases()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("driver", "kernel", "encapsulation", "blamed", "expected"),
    [
        ("vmxnet3", "5.15.0-134-generic", "vxlan", "tx-udp_tnl-segmentation", "calico-4727"),
        ("vmxnet3", "4.4.0", "vxlan", "tx-udp_tnl-segmentation", "calico-4727"),
        ("mlx5_core", "5.4.0", "vxlan", "tx-checksum-ip-generic", "flannel-1279"),
        ("mlx5_core", "6.12.54-flatcar", "vxlan", "tx", "calico-11435"),
        ("e1000e", "6.1.0", "none", "tx-tcp-segmentation", "otaru-2637"),
        ("igc", "7.1.4-1-pve", "none", "tx-udp-segmentation", "tailscale-19777"),
    ],
)
def test_a_case_that_is_like_it(driver, kernel, encapsulation, blamed, expected):
    cases = like([KnownHost([driver], kernel)], encapsulation, [blamed])
    assert expected in [case.name for case in cases]


@pytest.mark.parametrize(
    ("driver", "kernel", "encapsulation", "blamed"),
    [
        ("vmxnet3", "5.15.0", "none", "tx"),  # no tunnel
        ("e1000e", "6.1.0", "none", "rx"),  # another setting
        ("e1000", "6.1.0", "none", "tso"),  # another driver
        ("igc", "7.1.5", "none", "tx-udp-segmentation"),  # another kernel
        ("igc", "", "none", "tx-udp-segmentation"),  # the kernel is not known
    ],
)
def test_no_case_is_like_it(driver, kernel, encapsulation, blamed):
    assert like([KnownHost([driver], kernel)], encapsulation, [blamed]) == []


def test_where_a_case_names_the_driver_those_of_any_driver_are_left_out():
    cases = like([KnownHost(["hv_netvsc"], "5.15.0")], "vxlan", ["tx"])
    assert [case.name for case in cases] == ["flannel-790"]


def test_without_a_host_nothing_is_said():
    assert like([], "vxlan", ["tx"]) == []


def test_of_a_host_those_that_name_its_driver_or_the_last_kernel():
    assert [case.name for case in of_host(KnownHost(["e1000e"], "7.0.2"))] == [
        "tailscale-19777",
        "otaru-2637",
        "incus-os-849",
    ]
    assert of_host(KnownHost(["veth"], "6.18.44")) == []
