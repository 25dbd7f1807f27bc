# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module kernels_bisect: the next step of a search over kernels; see
plugins/modules/kernels_bisect.py.
"""

from __future__ import annotations

from ..module_utils._base.errors import InputError
from ..plugin_utils._across import bisect, kernel_sides
from ..plugin_utils._action.controller import Answered, ControllerAction, Options, Spec, TaskVars
from ..plugin_utils._untrusted.texts import clean

SPEC: Spec = {
    "kernels": {"type": "list", "elements": "str", "required": True},
    "results": {"type": "path", "required": True},
    "question": {"type": "str", "required": True},
    "slower_percent": {"type": "float", "default": 0},
    "failed": {"type": "list", "elements": "str", "default": []},
    "changelogs": {"type": "dict", "default": {}},
}


class ActionModule(ControllerAction):
    """Read the measurements, and name the next kernel or the range."""

    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        kernels = options["kernels"]
        if len(set(map(kernel_sides.name_of, kernels))) < max(2, len(kernels)):
            raise InputError(
                "a search needs two kernels or more, each once",
                ", ".join(kernels),
                "Give them in their order, with the good one first and the bad one last.",
            )
        if not 0 <= options["slower_percent"] < 100:
            raise InputError(
                "not a loss in per cent", options["slower_percent"], "Use 0 up to 100."
            )
        step = kernel_sides.step_of(
            options["results"],
            kernels,
            options["question"],
            options["slower_percent"],
            options["failed"],
        )
        return {
            "changed": False,
            "next": step.next,
            "folder": step.folder,
            "sides": step.sides,
            "range": step.range._asdict() if step.range else {},
            "follows": step.follows,
            **_found(step, kernels, options["changelogs"]),
        }


def _found(
    step: kernel_sides.Step, kernels: list[str], changelogs: dict[str, str]
) -> dict[str, list[str]]:
    """Return the answer and the entries of the changelogs, once the range is known."""
    if not step.range:
        return {"answer": [], "entries": []}
    older, newer = (changelogs.get(end, "") for end in (step.range.good, step.range.bad))
    entries = bisect.entries_between(older, newer) if older and newer else []
    answer = bisect.sentences(step.range, len(step.sides), len(kernels))
    return {"answer": answer, "entries": [clean(entry) for entry in entries]}
