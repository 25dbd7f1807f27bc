# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What unit tests of several rooms build alike."""

from __future__ import annotations

import dataclasses
import types
import typing

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cure import blames_of, cure_of
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.integrity import verdicts
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import Effect, Spread
from ansible_collections.offload.lab.plugins.plugin_utils._figures.nouns import QuantityRow
from ansible_collections.offload.lab.plugins.plugin_utils._report import broken
from ansible_collections.offload.lab.plugins.plugin_utils._report.phrases import line


def feature(name, levels=("off", "on"), needs=()):
    """Return a factor of a plan: a feature of the underlay's devices, at both ends."""
    return {
        "name": name,
        "kind": "feature",
        "levels": list(levels),
        "settings": [name],
        "needs": list(needs),
        "sides": ["client", "server"],
        "devices": ["underlay"],
    }


BLANKS = {int: 0, float: 0.0, str: "", bool: False, type(None): None}


def made(kind, **values_given):
    """Return a result of an analysis, such as a table, in which what is not given is empty."""
    hints = typing.get_type_hints(kind)
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in values_given:
            values[field.name] = _made(hints[field.name], values_given[field.name])
        elif field.default is dataclasses.MISSING:
            values[field.name] = _blank(hints[field.name])
    return kind(**values)


def _parts(hint):
    return [part for part in typing.get_args(hint) if part is not type(None)]


def _made(hint, value):
    kinds = [kind for kind in (hint, *_parts(hint)) if dataclasses.is_dataclass(kind)]
    if isinstance(value, dict) and kinds:
        return made(kinds[0], **value)
    if isinstance(value, list) and _parts(hint):
        inner = hint if typing.get_origin(hint) is not types.UnionType else _parts(hint)[0]
        return [_made(_parts(inner)[0], item) for item in value] if _parts(inner) else value
    return value


def _blank(hint):
    if type(None) in typing.get_args(hint):
        return None
    if dataclasses.is_dataclass(hint):
        return made(hint)
    origin = typing.get_origin(hint)
    return {} if origin is dict else [] if origin else BLANKS.get(hint)


OF_EFFECT = {"verdict": "state", "p": "p_report", "blocks": "differences"}
OF_SPREAD = ("median", "q1", "q3")


def shown_row(profile="", label="", **values_given):
    """Return a row of a table; an effect's outcome is its ``verdict``, its ratios are its ``blocks``."""
    spread = {name: values_given.pop(name) for name in OF_SPREAD if name in values_given}
    numbers = {name: values_given.pop(name) for name in ("base", "floor") if name in values_given}
    effect = {OF_EFFECT.get(name, name): value for name, value in values_given.items()}
    return made(
        QuantityRow,
        profile=profile,
        label=label,
        effect=made(Effect, **effect),
        spread=made(Spread, n=values_given.get("n", 0), **spread),
        **numbers,
    )


def payload_sentences(plan, checks, hosts=()):
    """Return the report's sentences on the payload of each path."""
    rows = broken.findings(plan, checks, verdicts(plan, checks), hosts)
    return [line(broken.SIGNS[row.verdict], row.text) for row in rows]


def cure_found(plan, checks):
    """Return the cure that checks of the payload ask for."""
    return cure_of(plan, checks, blames_of(plan, checks.planned or checks.fresh))
