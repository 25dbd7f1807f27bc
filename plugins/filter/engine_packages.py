# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Iterable

from ansible.errors import AnsibleFilterError

from ..module_utils._base.errors import LabError
from ..module_utils._engines import engines


def engine_packages(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the packages that bring the programs of engines, by family of the operating system."""
    makers = []
    try:
        for name in names:
            makers += engines.candidates(str(name))
        return engines.packages_of(makers)
    except LabError as error:
        raise AnsibleFilterError(f"offload.lab.engine_packages: {error}") from error


class FilterModule:
    """The filter offload.lab.engine_packages."""

    def filters(self) -> dict[str, Callable[..., dict[str, dict[str, str]]]]:
        return {"engine_packages": engine_packages}
