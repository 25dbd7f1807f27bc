# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a campaign's scatter comes from: blocks, visits, cells, and other work of the machine.
Pure.

Only what scatters inside blocks makes an answer unsure: a block's own level cancels out.
"""

from __future__ import annotations

from .._statistics.components import Scatter, components, goes_with
from .._statistics.effects import logs
from .._statistics.libraries import np
from .._statistics.numbers import shortened
from .cube import Cube
from .metrics import ENDS, MAIN
from .result import Meanwhile, Scattered

CAUSES = {  # the CPU time of an end, in per cent, that no profile asks for
    "steal": "CPU time that the hypervisor took",
    "user": "CPU time of programs",
}
LEAST = 0.1  # a smaller share is not worth a sentence
HALF = (0.4, 0.6)  # what is called half


def scattered(cube: Cube) -> Scattered | None:
    """Return where the scatter of throughput and transactions comes from; None where too little was
    measured.
    """
    measured = [name for name in MAIN if name in cube.values]
    if not measured:
        return None
    data = np.concatenate([logs(cube.values[name]) for name in measured])
    measured_rows = ~np.isnan(data).all(axis=(1, 2))
    scatter = components(data[measured_rows], 1.0) if measured_rows.any() else None
    if scatter is None:
        return None
    meanwhile = list[Meanwhile]()
    for what in CAUSES:
        values = _taken(cube, what)
        share = goes_with(
            data[measured_rows], np.concatenate([values] * len(measured))[measured_rows]
        )
        if share >= LEAST:
            meanwhile.append(Meanwhile(what=what, share=round(share, 3)))
    meanwhile.sort(key=lambda cause: -cause.share)
    return Scattered(
        cell=shortened(scatter.trial),
        visit=None if scatter.visit is None else shortened(scatter.visit),
        block=shortened(scatter.block),
        meanwhile=meanwhile,
        text=" ".join([_text(scatter, meanwhile), *_unequal(cube)]),
    )


def _taken(cube: Cube, what: str) -> np.ndarray:
    """Return what took CPU time, of the end that lost most."""
    lost = np.full(cube.attempts.shape, np.nan)
    for end in ENDS:
        if f"cpu_{end}_{what}" in cube.values:
            lost = np.fmax(lost, cube.values[f"cpu_{end}_{what}"])
    return lost


def _text(scatter: Scatter, meanwhile: list[Meanwhile]) -> str:
    """Return in words what scatters, and the associated causes."""
    cells = f"single cells by {_percent(scatter.trial)}"
    inside = (
        cells if scatter.visit is None else f"whole visits by {_percent(scatter.visit)}, {cells}"
    )
    sentence = (
        f"Values scatter inside a block: {inside}. Blocks differ by {_percent(scatter.block)}, which "
        "cancels out."
    )
    return " ".join([sentence, *map(associated_cause, meanwhile)])


def _unequal(cube: Cube) -> list[str]:
    """Return in words how much more blocks with longer cells count, where there are such."""
    if cube.weights is None:
        return []
    more = cube.weights.max() / cube.weights.min()
    return [f"Blocks whose cells measured longer count {more:.2g} times as much as the others."]


def associated_cause(cause: Meanwhile) -> str:
    """Return in words what the blocks were needed for."""
    share = cause.share
    amount = "Half" if HALF[0] <= share <= HALF[1] else f"{100 * share:.0f} %"
    return (
        f"{amount} of the variance inside blocks is associated with {CAUSES[cause.what]}, and so is "
        "this share of the needed blocks."
    )


def _percent(deviation: float) -> str:
    return f"{100 * np.expm1(deviation):.1f} %"
