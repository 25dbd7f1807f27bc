# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

Answer = Mapping[str, Any]  # what module report returns as ``payload``


def joined(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the answer of the check with what its steps have found; ``answers`` are in their order."""
    check, steps = answers[0], answers[1:]
    answer: dict[str, Any] = {**check, "paths": [_with_hops(row, steps) for row in check["paths"]]}
    for step in steps:
        if step.get("cure"):
            answer["cure"] = step["cure"]
    return answer


def _with_hops(row: Mapping[str, Any], steps: Sequence[Answer]) -> dict[str, Any]:
    """Return the row of a path with the hops of the last step that has named them."""
    hops = row["hops"]
    for step in steps:
        for other in step["paths"]:
            if other["hops"] and (other["path"], other["mtu"]) == (row["path"], row["mtu"]):
                hops = other["hops"]
    return {**row, "hops": hops}


def joined_checks(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return one answer from the campaigns of playbook integrity."""
    try:
        return joined(answers)
    except (KeyError, IndexError, TypeError) as error:
        raise AnsibleFilterError(
            f"offload.lab.joined_checks: no answer of module report: {error!r}"
        )


class FilterModule:
    """The filter offload.lab.joined_checks."""

    def filters(self) -> dict[str, Callable[..., dict[str, Any]]]:
        return {"joined_checks": joined_checks}
