# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils._base.errors import LabError
from ..module_utils._kinds import command_levels
from ..module_utils._kinds import kept_devices as kept


def _plain(value: Any) -> Any:
    """Return data without what Ansible's texts know of where they come from."""
    return json.loads(json.dumps(value))


def with_commands(
    settings: Mapping[str, Any], commands: Mapping[str, Any], host: str, allowed: Iterable[str]
) -> Mapping[str, Any]:
    """Return settings by device class with the commands in place of their levels."""
    try:
        return command_levels.with_commands(
            _plain(settings), command_levels.Allowed(host, _plain(commands), list(allowed))
        )
    except LabError as error:
        raise AnsibleFilterError(str(error)) from error


def kept_devices(
    classes: Mapping[str, Any],
    profiles: Iterable[Mapping[str, Any]],
    commands: Mapping[str, Any],
    host: str,
    allowed: Iterable[str],
) -> list[dict[str, Any]]:
    """Return the devices that a snapshot is to keep before these profiles are set."""
    try:
        return kept.kept_devices(
            _plain(classes),
            _plain(list(profiles)),
            command_levels.Allowed(host, _plain(commands), list(allowed)),
        )
    except LabError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filters offload.lab.with_commands and offload.lab.kept_devices."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"with_commands": with_commands, "kept_devices": kept_devices}
