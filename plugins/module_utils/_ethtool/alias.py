# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of features as people write them, resolved to the single kernel bits that a device lists.

Pure.
"""

from __future__ import annotations

import difflib

from .._base.errors import InputError
from .features import LEGACY, Features, group_members

SHORT_NAMES = {long: short for short, long, _pattern in LEGACY}
LONG_NAMES = {short: long for short, long, _pattern in LEGACY}
# A kernel name that ethtool hides behind its long name, such as rx-gro behind
# generic-receive-offload.
HIDDEN_NAMES = {pattern: long for _short, long, pattern in LEGACY if "*" not in pattern}


def resolve(name: str, features: Features, device: str) -> list[str]:
    """Return the listed rows, all of them single bits, that ``name`` means on a device that lists
    ``features``.

    ``name`` is a row of the listing, a kernel name (``rx-gro``), or a legacy name, short (``tso``)
    or long (``tcp-segmentation-offload``); a legacy name that stands for a group gives the group's
    bits. Raises :class:`InputError` where the device lists no such feature.
    """
    groups = group_members(features)
    for candidate in (name, LONG_NAMES.get(name), HIDDEN_NAMES.get(name)):
        if candidate in groups:
            return list(groups[candidate])
        if candidate in features:
            return [candidate]
    raise InputError(
        f"this device and kernel have no feature {name!r}", device, advice(name, features, device)
    )


def advice(name: str, features: Features, device: str) -> str:
    """Return the sentence that helps after an unknown feature name."""
    names = sorted(
        set(features) | {short for short, long in LONG_NAMES.items() if long in features}
    )
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return f"'ethtool -k {device}' lists the names that can be used."


def argument_name(row: str) -> str:
    """Return the name under which every version of ``ethtool -K`` takes the listed ``row``."""
    return SHORT_NAMES.get(row, row)


def resolve_all(
    features_asked: dict[str, bool], features: Features, device: str
) -> dict[str, bool]:
    """Return ``{bit: bool}`` for ``{name or alias: bool}``: bits named singly win over the groups
    that hold them.

    Raises :class:`InputError` for an unknown name, and for two names of one bit that contradict
    each other.
    """
    groups: dict[str, bool] = {}
    singles: dict[str, bool] = {}
    origin: dict[str, str] = {}
    for name, value in features_asked.items():
        bits = resolve(name, features, device)
        level = singles if is_single(name, features) else groups
        for bit in bits:
            if level.get(bit, value) != value:
                raise InputError(
                    f"{origin[bit]!r} and {name!r} ask {bit} to be both on and off",
                    device,
                    "Give each feature one value.",
                )
            level[bit] = value
            origin[bit] = name
    return dict(groups, **singles)


def is_single(name: str, features: Features) -> bool:
    """Return whether ``name`` means one bit and not a group of this device."""
    groups = group_members(features)
    return name not in groups and LONG_NAMES.get(name) not in groups
