# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed at a boundary between two tasks of a playbook; what the nodes then are
by themselves.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, environment
from ansible_collections.offload.lab.tests.system.pods import unlike

# Of the dead man's switch in a run that is killed; a busy machine takes half of it for the slowest
# visit
MINUTES = 1
UNDISTURBED = 15  # in one that is not
PATIENCE = 180  # seconds for it to fire, on a busy machine too
STATE = "/run/offload-lab/dead_man_switch.json"
FIRED = "/run/offload-lab/dead_man_switch.fired"
STRUCK = CHECKOUT / "tests/output/boundaries"  # a line a boundary that left nothing
SECONDS = float(os.environ.get("OFFLOAD_LAB_FAULTS_SECONDS", "inf"))
# Trials that no controller has fetched: they are not to be lost.
SPOOL = "/var/lib/offload-lab/spool/"


def play(lab, folder, playbook, variables, *, kill_at=0, kill_task=""):
    """Run a playbook of a lab until the boundary ``kill_at``, or before ``kill_task``, or to its end.

    Return ``(exit status, boundaries that were reached, output)``.
    """
    minutes = MINUTES if kill_at or kill_task else UNDISTURBED
    variables_given = {
        f"offload_lab_{key}": value
        for key, value in dict(variables, dead_man_minutes=minutes).items()
    }
    argv = ["ansible-playbook", f"playbooks/{playbook}.yml", "-e", json.dumps(variables_given)]
    variables = {
        "OFFLOAD_LAB_NAME": lab.name,
        "OFFLOAD_LAB_NODES": "2",
        "OFFLOAD_LAB_KILL_TASK": kill_task,
    }
    return until(kill_at, argv, folder / lab.name, **variables)


def until(number, argv, path, *, cwd=CHECKOUT, seconds=600, **variables):
    """Run a command until the boundary of this number, 0 for its end; its output is kept in
    ``place``.

    Return ``(exit status, boundaries that were reached, output)``.
    """
    boundaries = Path(f"{path}.boundaries")
    output = Path(f"{path}.output")
    boundaries.unlink(missing_ok=True)
    with output.open("w") as stream:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment(
                **variables,
                OFFLOAD_LAB_KILL_AT=str(number),
                OFFLOAD_LAB_BOUNDARIES=str(boundaries),
                ANSIBLE_CALLBACKS_ENABLED="kill_at",
                ANSIBLE_CALLBACK_PLUGINS=str(Path(__file__).parent / "callback"),
            ),
        )
    try:
        process.wait(timeout=seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    reached = boundaries.read_text().splitlines() if boundaries.exists() else []
    return process.returncode, reached, output.read_text(errors="replace")


def state(lab):
    """Return the state of the nodes without what is to stay: trials nobody fetched, and the mark of
    the switch.
    """
    now = lab.state()
    for number in range(1, lab.nodes + 1):
        node = now[f"node{number}"]
        node["files"] = [
            name for name in node["files"] if name != FIRED and not name.startswith(SPOOL)
        ]
    return now


def armed(lab):
    """Return whether a switch waits; to read the whole state again and again is too much for a
    small machine.
    """
    return any(
        lab.inside(number, "find", STATE, rc=None).strip() == STATE
        for number in range(1, lab.nodes + 1)
    )


def settle(lab, accepted, patience=PATIENCE):
    """Wait for the switches; return what differs from the nearest of the ``accepted`` states after
    that.
    """
    deadline = time.monotonic() + patience
    while True:
        while armed(lab) and time.monotonic() < deadline:
            time.sleep(0.5)
        now = state(lab)
        changes = min((unlike(before, now) for before in accepted), key=len)
        if not changes or time.monotonic() > deadline:
            return changes
        time.sleep(0.5)


def tidy(lab):
    """Remove the mark of a switch that has fired, as the next campaign does."""
    for number in range(1, lab.nodes + 1):
        lab.inside(number, "rm", "-f", FIRED)


def strike_all(labs, playbook, chosen, strike_boundary):
    """Have ``one(lab, number)`` strike at each of the boundaries, lab by lab; return what it found
    wrong.

    What left nothing is not struck again by the next run, until all of them did.
    """
    free = queue.SimpleQueue()
    struck = STRUCK / f"{playbook}-{len(chosen)}"
    end = time.monotonic() + SECONDS
    for lab in labs:
        free.put(lab)
    STRUCK.mkdir(parents=True, exist_ok=True)
    done = set(struck.read_text().splitlines()) if struck.exists() else set()

    def strike(boundary):
        lab = free.get()
        try:
            if time.monotonic() > end:
                return None
            outcome = strike_boundary(lab, int(boundary.split()[0]))
        finally:
            free.put(lab)
        print(
            f"{time.strftime('%H:%M:%S')} {playbook} {boundary}: {outcome or 'as before'}",
            flush=True,
        )
        if not outcome:
            with struck.open("a") as stream:
                stream.write(boundary + "\n")
        return [(boundary, outcome)] if outcome else []

    with ThreadPoolExecutor(len(labs)) as pool:
        outcomes = pool.map(strike, [boundary for boundary in chosen if boundary not in done])
        try:
            outcomes = list(outcomes)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    wrong = [row for rows in outcomes if rows for row in rows]
    if None in outcomes and not wrong:
        pytest.skip(f"{outcomes.count(None)} boundaries of {playbook} are left: run it again")
    if not wrong:
        struck.unlink(missing_ok=True)
    return wrong
