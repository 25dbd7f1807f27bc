# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Short campaigns of design integrity where nothing is wrong: none may say anything but clean.

``python -m …lying_nic.clean PLACE COUNT`` prints a line for each campaign that says more, and the
sums. PLACE is ``nic`` (the NIC that lies, without a fault), ``veth``, or ``hogs``: the NIC while
two processes keep CPUs busy.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from ansible_collections.offload.lab.plugins.module_utils._nodes import faults
from ansible_collections.offload.lab.tests.instruments.lying_nic.campaign import Found, campaign
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import VETH

PLACES = {"nic": (faults.HONEST, 0), "veth": (VETH, 0), "hogs": (faults.HONEST, 2)}
CLEAN = "clean"
SHORT = {"duration": 1, "blocks": 1, "factors": ["tx", {"name": "tso", "needs": ["tx"]}, "gro"]}


@contextlib.contextmanager
def hogs(count: int) -> Iterator[None]:
    """Keep ``count`` CPUs busy until the block ends."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _hog in range(count)]
    try:
        yield
    finally:
        for hog in busy:
            hog.kill()
            hog.wait()


def clean_runs(location: str, count: int) -> list[Found]:
    """Run campaigns; print what any says that is not clean."""
    fault, busy = PLACES[location]
    runs = list[Found]()
    with hogs(busy):
        for number in range(1, count + 1):
            run = campaign(fault, f"ol-{location}", **SHORT)
            runs.append(run)
            if run.verdict != CLEAN or run.troubled:
                print(f"{location} {number}: {run}", flush=True)
    return runs


def main(location: str, count: str) -> None:
    """Print what is not clean, and the sums."""
    runs = clean_runs(location, int(count))
    false_claims = sum(run.verdict != CLEAN for run in runs)
    trials = sum(run.trials for run in runs)
    troubled = sum(run.troubled for run in runs)
    print(
        f"{location}: {false_claims} of {len(runs)} are not clean, {troubled} of {trials} trials in trouble"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
