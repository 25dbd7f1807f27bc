# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases in which an offload was reported to be broken, and whether one of them is like what is here."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import yaml

from ...module_utils._ethtool.features import LEGACY
from ...module_utils._preflight.exchanged import Exchange

FILE = os.path.join(os.path.dirname(__file__), "known_cases.yml")
RELEASE = re.compile(r"\d+(?:\.\d+)*")  # what is a number of a kernel's release


class KnownCase(NamedTuple):
    """A case; what it does not name may be any."""

    name: str
    settings: Sequence[str]  # any of these was to blame
    reported: str
    cure: str
    link: str
    drivers: Sequence[str] = ()  # patterns such as mlx*
    encapsulations: Sequence[str] = ()
    from_kernel: str = ""
    to_kernel: str = ""
    fault: str = ""  # of a lying network card that does what was reported


class KnownHost(NamedTuple):
    """What is known of a node."""

    drivers: Collection[str]
    kernel: str  # its release
    node: str = ""
    exchanges: Sequence[Exchange] = ()  # with other nodes before the campaign


@functools.cache
def known_cases() -> list[KnownCase]:
    """Return the cases of the file, in its order."""
    with open(FILE, encoding="utf-8") as stream:
        return [KnownCase(**entry) for entry in yaml.safe_load(stream)]


def like(
    hosts: Collection[KnownHost], encapsulation: str, blamed: Collection[str]
) -> list[KnownCase]:
    """Return the cases that are like what a check found: a setting that was blamed, on a path of this
    encapsulation, and the driver and kernel of one of the hosts.

    Where a case names the driver, those that hold for any driver say nothing more.
    """
    settings = with_groups(blamed)
    cases = (case for case in known_cases() if _is_of(case, encapsulation, settings))
    matching = [case for case in cases if any(fits(case, host) for host in hosts)]
    return [case for case in matching if case.drivers] or matching


def with_groups(names: Collection[str]) -> set[str]:
    """Return settings with the short names of their groups: tx for tx-checksum-ip-generic."""
    with_groups = set(names)
    for short, _long, pattern in LEGACY:
        if any(fnmatchcase(name, pattern) for name in names):
            with_groups.add(short)
    return with_groups


def of_host(host: KnownHost) -> list[KnownCase]:
    """Return the cases to think of on a host: those that name its driver, or the last kernel."""
    narrow = (case for case in known_cases() if case.drivers or case.to_kernel)
    return [case for case in narrow if fits(case, host)]


def _is_of(case: KnownCase, encapsulation: str, settings: Collection[str]) -> bool:
    """Return whether one of these settings was to blame in a case, and on such a path."""
    on_path = not case.encapsulations or encapsulation in case.encapsulations
    return on_path and not set(settings).isdisjoint(case.settings)


def fits(case: KnownCase, host: KnownHost) -> bool:
    """Return whether driver and kernel of a host match a case."""
    return _has_driver(case.drivers, host.drivers) and _in_range(case, host.kernel)


def _has_driver(patterns: Sequence[str], drivers: Iterable[str]) -> bool:
    pairs = itertools.product(drivers, patterns)
    return not patterns or any(fnmatchcase(driver, pattern) for driver, pattern in pairs)


def _in_range(case: KnownCase, release: str) -> bool:
    """Return whether a release lies in the range; ``7.1`` as its end takes all of 7.1.x in."""
    first, last, running = map(_numbers, (case.from_kernel, case.to_kernel, release))
    if not running:
        return not first and not last
    return first <= running and (not last or running[: len(last)] <= last)


def _numbers(release: str) -> tuple[int, ...]:
    """Return the numbers with which a release begins: 6.12.54-flatcar is 6, 12 and 54."""
    match = RELEASE.match(release)
    return tuple(map(int, match.group().split("."))) if match else ()
