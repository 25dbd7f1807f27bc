# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading links and forwarding databases."""

from __future__ import annotations

from .._host.runner import run
from .parse import (
    Link,
    LinkAndNeighbors,
    parse_fdb,
    parse_links,
    parse_links_and_neighbors,
    parse_namespaces,
)


def read(netns: str | None = None) -> dict[str, Link]:
    """Return the links of a network namespace by name, see :func:`parse_links`."""
    return parse_links(run(["ip", "-json", "-details", "address", "show"], netns=netns).out)


def read_with_neighbors(netns: str | None = None) -> dict[str, LinkAndNeighbors]:
    """Return the links as :func:`read` does, each with its permanent neighbours; one process reads
    both.
    """
    return parse_links_and_neighbors(
        run(
            ["ip", "-json", "-details", "-batch", "-"],
            "address show\nneigh show nud permanent\n",
            netns,
        ).out
    )


def namespaces() -> dict[str, int | None]:
    """Return the ids of the named network namespaces, see :func:`parse_namespaces`."""
    return parse_namespaces(run(["ip", "-json", "netns", "list"]).out)


def read_fdb(device: str) -> list[tuple[str, str]]:
    """Return the remotes that a VXLAN device knows, see :func:`parse_fdb`."""
    return parse_fdb(run(["bridge", "-json", "fdb", "show", "dev", device]).out)
