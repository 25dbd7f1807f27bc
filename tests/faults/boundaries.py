# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed at a boundary between two tasks of a playbook; what the nodes then are by themselves."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from ansible_collections.offload.lab.tests.support import CHECKOUT, environment
from ansible_collections.offload.lab.tests.system.lab import differences

MINUTES = 1  # of the dead man's switch in a run that is killed; a busy machine takes half of it for the slowest visit
UNDISTURBED = 15  # in one that is not
PATIENCE = 180  # seconds for it to fire, on a busy machine too
STATE = "/run/offload-lab/dead_man_switch.json"
FIRED = "/run/offload-lab/dead_man_switch.fired"
SPOOL = "/var/lib/offload-lab/spool/"  # trials that no controller has fetched: they are not to be lost


def play(lab, folder, playbook, variables, *, kill_at=0, kill_task=""):
    """Run a playbook until the boundary ``kill_at``, or before ``kill_task``, or to its end.

    Return ``(exit status, boundaries that were reached, output)``.
    """
    minutes = MINUTES if kill_at or kill_task else UNDISTURBED
    boundaries, output = folder / "boundaries", folder / "output"
    boundaries.unlink(missing_ok=True)
    argv = ["ansible-playbook", f"playbooks/{playbook}.yml", "-e", json.dumps(
        {f"offload_lab_{key}": value for key, value in dict(variables, dead_man_minutes=minutes).items()})]
    with output.open("w") as stream:
        process = subprocess.Popen(
            argv, cwd=CHECKOUT, start_new_session=True, stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.STDOUT, env=environment(
                OFFLOAD_LAB_NAME=lab.name, OFFLOAD_LAB_NODES="2",
                OFFLOAD_LAB_KILL_AT=str(kill_at), OFFLOAD_LAB_KILL_TASK=kill_task,
                OFFLOAD_LAB_BOUNDARIES=str(boundaries), ANSIBLE_CALLBACKS_ENABLED="kill_at",
                ANSIBLE_CALLBACK_PLUGINS=str(Path(__file__).parent / "callback")))
    try:
        process.wait(timeout=600)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    reached = boundaries.read_text().splitlines() if boundaries.exists() else []
    return process.returncode, reached, output.read_text(errors="replace")


def state(lab):
    """Return the state of the nodes without what is to stay: trials nobody fetched, and the mark of the switch."""
    now = lab.state()
    for number in range(1, lab.nodes + 1):
        node = now[f"node{number}"]
        node["files"] = [name for name in node["files"] if name != FIRED and not name.startswith(SPOOL)]
    return now


def settle(lab, accepted):
    """Wait for the switches; return what differs from the nearest of the ``accepted`` states after that."""
    deadline = time.monotonic() + PATIENCE
    while True:
        now = state(lab)
        found = min((list(differences(before, now)) for before in accepted), key=len)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def tidy(lab):
    """Remove the mark of a switch that has fired, as the next campaign does."""
    for number in range(1, lab.nodes + 1):
        lab.inside(number, "rm", "-f", FIRED)
