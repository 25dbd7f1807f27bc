# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many network namespaces of the host have a device of the same name, such as eth0."""

from __future__ import annotations

import collections
import contextlib
import glob
import os
from typing import Counter, Iterable

from .._base import network
from .._base.errors import LabError
from .._host import netns
from .errors_seen import parse_devices

MOST_NAMESPACES = 1000
OF_PROCESSES = "/proc/[0-9]*/ns/net"


def _tables() -> dict[int, str]:
    """Return the table of devices of each namespace that has a name or a process."""
    tables: dict[int, str] = {}
    for path in glob.glob(OF_PROCESSES):
        with contextlib.suppress(OSError):  # the process has ended
            identity = os.stat(path).st_ino
            if identity in tables or len(tables) >= MOST_NAMESPACES:
                continue
            with open(path.replace("ns/net", "net/dev")) as stream:
                tables[identity] = stream.read()
    named = sorted(os.listdir(netns.FOLDER)) if os.path.isdir(netns.FOLDER) else []
    for name in filter(network.is_namespace_name, named[:MOST_NAMESPACES]):
        identity = netns.inode(netns.path_of(name)) or 0
        with contextlib.suppress(OSError, LabError), netns.inside(name):
            if identity not in tables:
                with open("/proc/thread-self/net/dev") as stream:
                    tables[identity] = stream.read()
    return tables


def counted(names: Iterable[str]) -> dict[str, int]:
    """Return ``{name: namespaces with a device of this name}``."""
    counts: Counter[str] = collections.Counter()
    for table in _tables().values():
        counts.update(parse_devices(table).keys())
    return {name: counts[name] for name in names}
