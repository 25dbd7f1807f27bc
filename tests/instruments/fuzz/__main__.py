# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make fuzz: COUNT mutated inputs (1,000,000) through every parser, in two processes; a table at
the end.

Usage: python tests/instruments/fuzz [COUNT [PARSER ...]]. OFFLOAD_LAB_FUZZ_PROCESSES is another number of
processes, and OFFLOAD_LAB_FUZZ_SEED the first seed: a run that was ended early goes on with the
seed that its last line names. What a parser lets fall is printed with its seed, which gives the
same input again.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / ".build" / "live"))

from ansible_collections.offload.lab.tests.instruments.fuzz.mutate import mutate
from ansible_collections.offload.lab.tests.instruments.fuzz.parsers import PARSERS
from ansible_collections.offload.lab.tests.instruments.fuzz.trial import try_one

BATCH = 10_000
SHOWN = 5
PROCESSES = int(os.environ.get("OFFLOAD_LAB_FUZZ_PROCESSES", "2"))
FIRST = int(os.environ.get("OFFLOAD_LAB_FUZZ_SEED", "0"))


def batch(job):
    """Return ``(parser, counts, failures, CPU seconds)`` of the inputs of one seed."""
    name, seed, size = job
    parse, samples = PARSERS[name]
    samples = samples()
    generator = random.Random(f"{name} {seed}")
    counts = {"rows": 0, "error": 0}
    failures = []
    started = time.process_time()
    for number in range(size):
        text = mutate(generator, samples)
        try:
            counts[try_one(parse, text)] += 1
        except Exception as error:
            failures.append(f"{name}, seed {seed}, input {number}: {error!r:.200} by {text!r:.300}")
    return name, counts, failures, time.process_time() - started


def jobs(names, count):
    """Return the batches of all parsers, in turns, so that an interrupted run has tried each."""
    return [
        (name, FIRST + number, min(BATCH, count - number * BATCH))
        for number in range(-(-count // BATCH))
        for name in names
    ]


def show(totals):
    """Print the table of what was seen so far."""
    print(f"\n{'parser':<24}{'inputs':>12}{'rows':>12}{'typed error':>12}{'else':>8}{'CPU s':>9}")
    for name, (counts, failed, seconds) in totals.items():
        inputs = sum(counts.values()) + failed
        print(
            f"{name:<24}{inputs:>12,}{counts['rows']:>12,}{counts['error']:>12,}{failed:>8,}{seconds:>9.0f}"
        )


def main(count, names):
    """Run and return the number of inputs that a parser failed on."""
    os.nice(15)
    totals = {name: ({"rows": 0, "error": 0}, 0, 0.0) for name in names}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("fork")) as pool:
        try:
            for name, counts, failures, seconds in pool.map(batch, jobs(names, count)):
                before, failed, spent = totals[name]
                totals[name] = (
                    {kind: before[kind] + counts[kind] for kind in counts},
                    failed + len(failures),
                    spent + seconds,
                )
                for text in failures[: max(0, SHOWN - failed)]:
                    print(text, flush=True)
        except (KeyboardInterrupt, BrokenProcessPool) as error:
            print(f"\nended early: {error!r}")
            pool.shutdown(wait=False, cancel_futures=True)
    show(totals)
    print(
        f"next seed: {FIRST + -(-max(sum(counts.values()) for counts, _failed, _spent in totals.values()) // BATCH)}"
    )
    return sum(failed for _counts, failed, _seconds in totals.values())


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    sys.exit(1 if main(asked, sys.argv[2:] or tuple(PARSERS)) else 0)
