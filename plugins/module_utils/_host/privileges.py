# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether this process may do what a task asks of the kernel. Its capabilities say so, also in a
container.
"""

from __future__ import annotations

import re
from typing import Iterable

from .._base.errors import InputError

# Bits of CapEff, from linux/capability.h.
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}


def missing_capabilities(status: str, needed: Iterable[str]) -> list[str]:
    """Return the ``needed`` capabilities that a text of ``/proc/PID/status`` does not show
    as effective.
    """
    effective = re.search(r"^CapEff:\s*([0-9a-f]{1,16})$", status, re.MULTILINE)
    bits = int(effective.group(1), 16) if effective else 0
    return [name for name in needed if not bits >> CAPABILITIES[name] & 1]


def require(
    needed: Iterable[str],
    status_file: str = "/proc/self/status",
    to_do: str = "Run it with 'become: true'.",
) -> None:
    """Raise :class:`InputError`, which says what ``to_do``, if one of the ``needed`` capabilities
    is missing.
    """
    with open(status_file, encoding="ascii", errors="replace") as stream:
        missing = missing_capabilities(stream.read(), needed)
    if missing:
        raise InputError(
            f"this task needs root: {' and '.join(missing)} is missing", "not permitted", to_do
        )
