# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counting in a trial costs: the CPU time of a netperf TCP_STREAM for each MB between two
namespaces, in pairs of parts with and without counting, in the order ABBA.

``python -m …benchmarks.bench_counting [PAIRS [SECONDS [on|off]]]``; the last word sets TSO. It compares
twice: with the counts of packets and drops at both ends as in a trial, and with all packets counted
all the time. The second comparison gives the cost of an event, and a trial has a known number of
events: that is a narrower interval for the cost of a trial. It needs root and netperf.
"""

from __future__ import annotations

import contextlib
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.offload.lab.plugins.module_utils._host import netns
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import in_thread
from ansible_collections.offload.lab.plugins.module_utils._observe import (
    crossing,
    drop_places,
    perf_events,
    tracefs,
    traffic,
)
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import SERVER, VETH, Nodes

NAMES = ("cost0", "cost1")
PORT = "5361"
PATIENCE = 10  # s until netserver listens
WARM_UP = 2.0  # s
TAKEN_EACH = 0.002  # s
SHORTER = (
    10  # parts in place of one where all packets are counted: other work disturbs less of them
)
RESAMPLES = 2000


class Reading(NamedTuple):
    """CPU time and bytes until now."""

    streams: float  # s of netperf and netserver
    counter: float  # s of this process
    sent: int


class Part(NamedTuple):
    """A part of the stream."""

    streams: float  # s of CPU time for each MB
    counter: float
    megabytes: float
    events: int = 0  # that were counted
    estimate: float = 0.0  # s, as a trial records it


@contextlib.contextmanager
def dropping() -> Iterator[None]:
    """Count drops as a trial does."""
    layout = tracefs.parse(tracefs.formats([drop_places.EVENT])[drop_places.EVENT])
    event = perf_events.Event(layout.number, drop_places.condition(layout), 1)
    with perf_events.Group([event]) as group:
        group.enable()
        yield


class Counts(NamedTuple):
    """What was counted in a part."""

    events: int
    estimate: float = 0.0


class AsInTrials:
    """Counts in turns at both ends. They share a kernel, so each packet is counted twice."""

    def __init__(self, nodes: Nodes) -> None:
        ends = zip(NAMES, nodes.spaces)
        self.ends = [crossing.Crossing([{"name": name, "netns": space}]) for name, space in ends]

    def begin(self) -> None:
        """Count from now on."""
        self.before = self.events()
        for end in self.ends:
            end.begin()

    def events(self) -> int:
        """Return how many events were counted until now."""
        return sum(sum(end.group.read()) for end in self.ends)

    def end(self) -> Counts:
        """Count no more."""
        estimate = sum(end.end()["cost_s"] for end in self.ends)
        return Counts(self.events() - self.before, estimate)


class AllTheTime(AsInTrials):
    """Counts without a pause, and takes the records before a ring is full."""

    def begin(self) -> None:
        self.before = self.events()
        self.stopping = threading.Event()
        self.thread = in_thread(self._take)
        for end in self.ends:
            end.group.enable()

    def _take(self) -> None:
        while not self.stopping.wait(TAKEN_EACH):
            for end in self.ends:
                list(end.group.take())

    def end(self) -> Counts:
        for end in self.ends:
            end.group.disable()
        self.stopping.set()
        self.thread.join()
        return Counts(self.events() - self.before)


class Stream:
    """A TCP_STREAM from the first node to the second one."""

    def __init__(self, nodes: Nodes, seconds: float) -> None:
        inside = [["ip", "netns", "exec", space] for space in nodes.spaces]
        self.space = nodes.spaces[0]
        server = [*inside[1], "netserver", "-D", "-f", "-p", PORT]
        client = [*inside[0], "netperf", "-H", SERVER, "-p", PORT, "-l", f"{seconds:g}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes = [subprocess.Popen(server, **quiet)]
        try:
            until = time.monotonic() + PATIENCE
            while f":{PORT}" not in nodes.inside(1, "ss", "-Hltn"):
                assert time.monotonic() < until
                time.sleep(0.02)
            self.processes.append(subprocess.Popen(client, **quiet))
        except BaseException:
            self.close()
            raise

    def reading(self) -> Reading:
        """Return the CPU times, and the bytes that the device has sent."""
        nanoseconds = 0
        for process in self.processes:
            nanoseconds += int(
                pathlib.Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]
            )
        with netns.inside(self.space), open(traffic.TABLE) as stream:
            sent = traffic.moved(stream.read())[NAMES[0]]["bytes_out"]
        return Reading(nanoseconds / 1e9, time.process_time(), sent)

    def part(self, seconds: float, counting: AsInTrials | None) -> Part:
        """Let it run for some seconds; return what a MB took."""
        with dropping() if counting else contextlib.nullcontext():
            if counting:
                counting.begin()
            before = self.reading()
            time.sleep(seconds)
            after = self.reading()
            counts = counting.end() if counting else Counts(0)
        megabytes = (after.sent - before.sent) / 1e6
        streams = (after.streams - before.streams) / megabytes
        return Part(streams, (after.counter - before.counter) / megabytes, megabytes, *counts)

    def close(self) -> None:
        """End both processes."""
        for process in self.processes:
            process.kill()
            process.wait()


def interval(values: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean, from resamples."""
    chance = random.Random(1)
    means = sorted(
        statistics.fmean(chance.choices(values, k=len(values))) for _resample in range(RESAMPLES)
    )
    return means[RESAMPLES // 40], means[-RESAMPLES // 40]


class Pair(NamedTuple):
    """Two parts, one after the other."""

    without: Part
    counted: Part


def pairs_of(stream: Stream, counting: AsInTrials, number: int, seconds: float) -> list[Pair]:
    """Return pairs of parts, in the order ABBA."""
    pairs = []
    for index in range(number):
        if index % 2:
            without = stream.part(seconds, None)
            pairs.append(Pair(without, stream.part(seconds, counting)))
        else:
            counted = stream.part(seconds, counting)
            pairs.append(Pair(stream.part(seconds, None), counted))
    return pairs


def in_words(values: list[float], digits: int) -> str:
    """Return mean, interval and quartiles."""
    low, high = interval(values)
    quartiles = " ".join(f"{each:.{digits}f}" for each in statistics.quantiles(values, n=4))
    mean = statistics.fmean(values)
    return f"{mean:.{digits}f} (95 %: {low:.{digits}f} to {high:.{digits}f}; quartiles {quartiles})"


def show(in_trials: list[Pair], all_the_time: list[Pair]) -> None:
    """Print what both comparisons give."""
    ratios = [
        (pair.counted.streams + pair.counted.counter)
        / (pair.without.streams + pair.without.counter)
        for pair in in_trials
    ]
    print(f"as in trials, CPU time of both ends and of counting: ratio {in_words(ratios, 4)}")
    each = [
        (pair.counted.streams - pair.without.streams)
        * pair.counted.megabytes
        / pair.counted.events
        * 1e9
        for pair in all_the_time
    ]
    print(f"all the time, CPU time of both ends: ns for an event {in_words(each, 0)}")
    parts = [pair.counted for pair in in_trials]
    total = sum((part.streams + part.counter) * part.megabytes for part in parts)
    counter = sum(
        (pair.counted.counter - pair.without.counter) * pair.counted.megabytes for pair in in_trials
    )
    events = sum(part.events for part in parts)
    shares = [
        100 * (counter + events * ns / 1e9) / total
        for ns in (statistics.fmean(each), *interval(each))
    ]
    estimate = 100 * sum(part.estimate for part in parts) / total
    print(
        f"so a trial costs {shares[0]:.2f} % of the CPU time ({shares[1]:.2f} to {shares[2]:.2f}),"
        f" {100 * counter / total:.2f} % of it in the process that counts; its estimate is {estimate:.2f} %"
    )


def main(pairs: int = 100, seconds: float = 1.0, tso: str = "on") -> None:
    """Compare, and print what counting costs."""
    with Nodes(VETH, "ol-cost") as nodes:
        nodes.rename(NAMES)
        nodes.inside(0, "ethtool", "-K", NAMES[0], "tso", tso)
        with contextlib.closing(Stream(nodes, pairs * seconds * 8 + 60)) as stream:
            stream.part(WARM_UP, None)
            in_trials = pairs_of(stream, AsInTrials(nodes), pairs, seconds)
            all_the_time = pairs_of(stream, AllTheTime(nodes), SHORTER * pairs, seconds / SHORTER)
    print(f"TSO {tso}, {pairs} pairs of {seconds:g} s")
    show(in_trials, all_the_time)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *map(float, sys.argv[2:3]), *sys.argv[3:4])
