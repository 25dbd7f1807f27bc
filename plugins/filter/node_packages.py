# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils._base.errors import LabError
from ..plugin_utils._request import packages


def node_packages(
    names: Iterable[str], distribution: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Return the package of each program that a node with these engines needs."""
    try:
        return packages.node_packages(names, distribution)
    except LabError as error:
        raise AnsibleFilterError(f"offload.lab.node_packages: {error}") from error


class FilterModule:
    """The filter offload.lab.node_packages."""

    def filters(self) -> dict[str, Callable[..., dict[str, str]]]:
        return {"node_packages": node_packages}
