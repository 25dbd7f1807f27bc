# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network card in user space of a node: the process that carries packets between its device and
its port in the fabric. It is in the node's network namespace, and ends with the node.
"""

from __future__ import annotations

from typing import Iterable, Mapping

from .._host import daemons, netns
from .._lying_nic import faults
from .._lying_nic.wire import Wire, open_tap
from .node import DEVICE, fabric, home, lab_of, port_of


def _state_file(node: str) -> str:
    return f"{home(node)}/nic.json"


def running(node: str) -> str:
    """Return the fault with which a node's card runs; empty where none does."""
    state = daemons.read(_state_file(node))
    return str(state["fault"]) if state else ""


def stop(nodes: Iterable[str]) -> None:
    """End the cards of nodes that have one."""
    for path in map(_state_file, nodes):
        daemons.stop(filter(None, [daemons.read(path)]))
        daemons.forget(path)


def start_all(nics: Mapping[str, str]) -> None:
    """Start the cards that have a fault."""
    for node, fault in nics.items():
        if fault:
            start(node, fault)


def start(node: str, fault: str) -> None:
    """Start the card of a node whose two taps are there."""
    near = open_tap(DEVICE, node)
    far = open_tap(port_of(node), fabric(lab_of(node)))
    files = [near.file, near.control.fileno(), far.file, far.control.fileno()]
    wire = Wire(near, far, faults.parse(fault))
    with netns.inside(node):
        pid = daemons.detach(wire.carry, files)
    daemons.write(_state_file(node), pid, {"fault": fault})
