# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of payload whose content is known, under each kernel. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from .._analysis.blame import condition_text
from .._analysis.result import PathVerdict
from .._statistics import text
from .rows import KernelPayload

NOT_CHECKED = "not checked"


def payload_rows(verdicts: Sequence[Sequence[PathVerdict]]) -> list[KernelPayload]:
    """Return a row for each path and MTU whose payload was checked under some kernel.

    ``verdicts`` are those of each kernel's campaign.
    """
    found: dict[tuple[str, int], KernelPayload] = {}
    for place, own in enumerate(verdicts):
        for one in own:
            row = found.setdefault((one.path, one.mtu), _blank(one, len(verdicts)))
            row["verdicts"][place] = one.verdict
            row["values"][place] = _words(one)
    return list(found.values())


def _blank(one: PathVerdict, kernels: int) -> KernelPayload:
    return {
        "path": one.path,
        "mtu": one.mtu,
        "verdicts": [NOT_CHECKED] * kernels,
        "values": [NOT_CHECKED] * kernels,
    }


def _words(one: PathVerdict) -> str:
    """Return a verdict, what it blames, and in how many trials something was wrong."""
    blamed = text.listed([condition_text(blame.settings) for blame in one.blames])
    with_what = f" with {blamed}" if blamed else ""
    return f"{one.verdict}{with_what}, {one.troubled} of {one.trials} trials in trouble"
