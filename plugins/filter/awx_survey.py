# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Iterable

from ansible.errors import AnsibleFilterError

from ..module_utils._base.errors import InputError
from ..plugin_utils._campaign.survey import survey


def awx_survey(keys: Iterable[str]) -> dict[str, object]:
    """Return the survey spec of an AWX job template that asks for these keys of a campaign."""
    try:
        return survey(keys)
    except (InputError, TypeError) as error:
        raise AnsibleFilterError(f"offload.lab.awx_survey: {error}")


class FilterModule:
    """The filter offload.lab.awx_survey."""

    def filters(self) -> dict[str, Callable[[Iterable[str]], dict[str, object]]]:
        return {"awx_survey": awx_survey}
