# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where reproduce.sh runs: the two ends of the first trial that was in trouble.

Names and addresses come from nodes and files. Each is checked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ....module_utils._base import network
from ....module_utils._base.errors import InputError
from ....module_utils._engines.payload.result import TEST
from ..._analysis.result import PathFinding
from ..._paths.path import Path
from ..._store.manifest import Manifest
from ..._trials.nouns import Trial

OWN = "-"  # the namespace of the host itself


class Ends(NamedTuple):
    """The two ends of a path whose payload was checked."""

    client: str  # the node
    server: str
    netns: str
    address: str  # of the server
    port: int
    local: str
    rate: float


def ends_of(row: PathFinding, trials: Iterable[Trial]) -> Ends | None:
    """Return the ends of the first trial of a path that was in trouble."""
    for trial in trials:
        is_of_row = (trial.get("path"), trial.get("mtu")) == (row.path, row.mtu)
        is_check = (trial.get("workload") or {}).get("test") == TEST
        if is_of_row and is_check and trial.get("error"):
            ends = _checked(trial)
            if ends:
                return ends
    return None


def _checked(trial: Trial) -> Ends | None:
    """Return what the command line of a check says; None for any other text."""
    try:
        stream = trial["streams"][0]
        argv = stream["argv"][stream["argv"].index("check") + 1 :]
        return Ends(
            client=trial["client"],
            server=trial["server"],
            netns=network.namespace_name(stream["netns"]) if stream["netns"] else OWN,
            address=str(network.address(argv[0], "server")),
            port=network.port(int(argv[1]), "port"),
            local=str(network.address(argv[4], "client")),
            rate=max(0.0, min(float(argv[3]), 1e6)),
        )
    except (InputError, LookupError, TypeError, ValueError):
        return None


def classes_of(manifest: Manifest, node: str) -> Mapping[str, Sequence[str]]:
    """Return the devices of each class that a node had before the campaign."""
    before = manifest["nodes"].get(node, {}).get("before")
    return (before.get("classes") if before else None) or {}


def server_netns(path: Path, ends: Ends, manifest: Manifest) -> str:
    """Return the network namespace in which the server's end of a path is."""
    existing = path.nodes.get(ends.server)
    if existing:
        netns = existing["end"]["netns"]
        return netns if netns and network.is_namespace_name(netns) else OWN
    if ends.netns == OWN:
        return OWN
    keys = chain.from_iterable(classes_of(manifest, ends.server).values())
    names = [key.rpartition("/")[0] for key in keys if is_key(key) and "/" in key]
    return ends.netns if ends.netns in names or not names else names[0]


def is_key(key: object) -> bool:
    """Return whether a key ``netns/device`` has names that the lab can use."""
    netns, slash, device = str(key).rpartition("/")
    return network.is_device_name(device) and (not slash or network.is_namespace_name(netns))
