# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One answer from the campaigns of playbook integrity: the verdicts of the check, the hops and the
cure of its steps. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Answer = Mapping[str, Any]  # what module report returns as ``payload``


def joined(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the answer of the check with what its steps have found; ``answers`` are in their order."""
    check, steps = answers[0], answers[1:]
    found: dict[str, Any] = {**check, "paths": [_with_hops(row, steps) for row in check["paths"]]}
    for step in steps:
        if step.get("cure"):
            found["cure"] = step["cure"]
    return found


def _with_hops(row: Mapping[str, Any], steps: Sequence[Answer]) -> dict[str, Any]:
    """Return the row of a path with the hops of the last step that has named them."""
    hops = row["hops"]
    for step in steps:
        for other in step["paths"]:
            if other["hops"] and (other["path"], other["mtu"]) == (row["path"], row["mtu"]):
                hops = other["hops"]
    return {**row, "hops": hops}
