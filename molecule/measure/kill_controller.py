# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a campaign, and kill its controller with all it started: kill_controller.py FOLDER PROFILE
COMMAND...

It is killed as soon as the campaign in FOLDER has recorded a trial of PROFILE.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".build" / "live"))

from ansible_collections.offload.lab.plugins.plugin_utils._trials import records
from ansible_collections.offload.lab.tests.instruments.faults.world import descendants

PATIENCE = 300


def main(folder, profile, *command):
    record, deadline = Path(folder) / "trials.jsonl", time.monotonic() + PATIENCE
    shutil.rmtree(folder, ignore_errors=True)  # of a test that failed before
    with Path(folder + ".log").open("w") as log:
        controller = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
    try:
        while controller.poll() is None and time.monotonic() < deadline:
            if any(trial["profile"] == profile for trial in records.read(str(record))[0]):
                return 0
            time.sleep(0.05)
    finally:
        for pid in descendants(controller.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    print(Path(folder + ".log").read_text()[-3000:])
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
