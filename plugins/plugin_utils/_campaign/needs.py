# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that factors need features that exist, and that no needs form a circle. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...module_utils._base.errors import InputError
from ...module_utils._ethtool.features import LEGACY
from .nouns import Factor

# The kernel's names of features begin with one of the first words, or are a single word
# (netdev_features_strings in net/ethtool/common.c). The nodes report which ones they have.
FIRST_WORDS = "tx|rx|tls|esp|hw|hsr|l2|macsec|fcoe|vlan|netns|busy"
SINGLE_WORDS = "highdma|loopback"
KERNEL_NAME = re.compile(rf"(?:(?:{FIRST_WORDS})-[a-z0-9_-]+|{SINGLE_WORDS})\Z")
LEGACY_NAMES = {row[0] for row in LEGACY} | {row[1] for row in LEGACY}


def check_needs(factors: Iterable[Factor], where: str) -> None:
    """Raise :class:`InputError` where a need names no feature, or where needs form a circle."""
    needs: dict[str, set[str]] = {}
    for factor in factors:
        for need in factor["needs"]:
            _check_name(need, factor, where)
        for setting in factor["settings"]:
            needs.setdefault(setting, set()).update(factor["needs"])
    for setting in needs:
        _refuse_circle(setting, needs, where)


def _check_name(need: str, factor: Factor, where: str) -> None:
    if need not in LEGACY_NAMES and not KERNEL_NAME.match(need):
        raise InputError(
            f"{need!r} is no feature",
            f"{where}: factor {factor['name']}: needs",
            "Give a name that 'ethtool -k' lists, such as tx-checksum-ip-generic, or a short one such as tx.",
        )


def _refuse_circle(start: str, needs: dict[str, set[str]], where: str) -> None:
    """Follow the needs of a setting; raise InputError where they lead back to it."""
    path = [start]
    to_follow = [(need, path) for need in sorted(needs[start])]
    followed = set()
    while to_follow:
        setting, before = to_follow.pop()
        way = [*before, setting]
        if setting == start:
            raise InputError(
                f"the needs go in a circle: {' needs '.join(way)}",
                f"{where}: factors",
                "Leave one of these needs out.",
            )
        if setting not in followed:
            followed.add(setting)
            to_follow += [(need, way) for need in sorted(needs.get(setting, ()))]
