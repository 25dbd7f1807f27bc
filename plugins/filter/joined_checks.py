# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils._exports.joined_checks import Answer, joined


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
