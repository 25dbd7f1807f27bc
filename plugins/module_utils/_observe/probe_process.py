# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe's process: found by its state file, started detached from the module, stopped by its
own pid only.
"""

from __future__ import annotations

import binascii
import os
import signal
from typing import TypedDict

from .._base.errors import LabError
from .._host import daemons
from . import probe

PROTOCOL = 3  # that a probe speaks; probes of other versions are ended


class Running(TypedDict):
    """What is known of a probe that runs."""

    pid: int
    token: str


def _state_file(address: str, port: int) -> str:
    return os.path.join(daemons.FOLDER, f"{daemons.PROBE}{address.replace(':', '_')}-{port}.json")


def find(address: str, port: int) -> Running | None:
    """Return ``{"pid", "token"}`` of the probe that runs here, or None."""
    state = daemons.read(_state_file(address, port))
    if not state or state.get("protocol") != PROTOCOL:
        return None
    return {"pid": state["pid"], "token": state["token"]}


def start(address: str, port: int) -> Running:
    """Start a probe and return ``{"pid", "token"}``; end one of another version first."""
    stop(address, port)
    token = binascii.hexlify(os.urandom(16)).decode()
    try:
        server = probe.listen(address, port, token)
    except OSError as error:
        raise LabError(
            f"the probe cannot listen ({error.strerror})",
            f"{address} port {port}",
            "Give an address of this node and a port that is free, and run as root (become: true).",
        )
    pid = daemons.detach(server.run, server.descriptors())
    server.shut()
    state = {"token": token, "protocol": PROTOCOL}
    try:
        daemons.write(_state_file(address, port), pid, state, mode=0o600)
    except OSError:  # without the file nobody would find it again
        os.kill(pid, signal.SIGTERM)
        raise
    return {"pid": pid, "token": token}


def stop(address: str, port: int) -> None:
    """Stop the probe that runs here and remove its state file."""
    path = _state_file(address, port)
    daemons.stop(filter(None, [daemons.read(path)]))
    daemons.forget(path)
