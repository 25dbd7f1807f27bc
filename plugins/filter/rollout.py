# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils._across.rollout import FORMS, hosts_of
from ..plugin_utils._untrusted.texts import clean_all


def rollout(hosts: Mapping[str, Any], form: str = "text", inventory: str = "INVENTORY") -> str:
    """Return the report of a rollout in batches."""
    if form not in FORMS:
        raise AnsibleFilterError(
            f"offload.lab.rollout: {form!r} is not a form of the report. Use {', '.join(FORMS)}."
        )
    plain = clean_all(json.loads(json.dumps(hosts)), "rollout")
    return FORMS[form](hosts_of(plain), inventory)


class FilterModule:
    """The filter offload.lab.rollout."""

    def filters(self) -> dict[str, Callable[..., str]]:
        return {"rollout": rollout}
