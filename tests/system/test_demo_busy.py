# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make demo five times in a row on a machine that others use: each run ends with an answer."""
from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from ansible_collections.offload.lab.tests.support import run

pytestmark = pytest.mark.nightly
HOGS = 2
STAYS, PAUSES = (5, 40), (5, 40)  # seconds
BUSY = [sys.executable, "-c", "while True: pass"]


def hog(done: threading.Event, seed: int) -> None:
    """Keep a CPU busy for a while, again and again."""
    generator = random.Random(seed)
    while not done.wait(generator.uniform(*PAUSES)):
        with subprocess.Popen(BUSY) as process:
            done.wait(generator.uniform(*STAYS))
            process.kill()


@pytest.fixture
def hogs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Two of them, that come and go independently."""
    done = threading.Event()
    threads = [threading.Thread(target=hog, args=(done, HOGS * request.param + number)) for number in range(HOGS)]
    for thread in threads:
        thread.start()
    yield
    done.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("hogs", range(5), indirect=True)
def test_it_ends_with_a_claim(lab_packages_required, hogs, tmp_path):
    output = run(["make", "demo", f"RESULTS={tmp_path}"], timeout=1800)
    found = json.loads((tmp_path / "demo/analysis.json").read_text())
    rows = [row for table in found["tables"] if (table["path"], table["test"]) == ("tenant_vxlan", "TCP_STREAM")
            for metric in table["metrics"] if metric["metric"] == "throughput" for row in metric["rows"]]
    print(found["trials"], [(row["profile"], row["n"], row["ratio"], row["state"]) for row in rows])
    assert {row["state"] for row in rows} & {"better", "worse"}, output[-3000:]
