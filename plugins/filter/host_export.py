# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils._base.errors import InputError
from ..plugin_utils._exports.host_formats import FORMATS
from ..plugin_utils._exports.host_settings import host_settings


def host_export(
    settings: Mapping[str, Any],
    tool: str,
    *,
    campaign: str,
    host: str,
    classes: Mapping[str, Any],
    devices: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what is recommended for a host as a file of another tool, and what is not in it."""
    if tool not in FORMATS:
        raise AnsibleFilterError(
            f"offload.lab.host_export: {tool!r} is not a tool that is known. Use {', '.join(FORMATS)}."
        )
    file, write = FORMATS[tool]
    # Ansible's texts know where they come from; YAML takes plain ones only.
    plain = json.loads(json.dumps([settings, classes, devices]))
    try:
        export = write(host_settings(campaign, host, *plain))
    except InputError as error:
        raise AnsibleFilterError(f"offload.lab.host_export: {error}")
    return {"file": file, "text": export.text, "left": export.missing}


class FilterModule:
    """The filter offload.lab.host_export."""

    def filters(self) -> dict[str, Callable[..., dict[str, Any]]]:
        return {"host_export": host_export}
