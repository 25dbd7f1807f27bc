# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long packets are counted, and what is made of their records."""

from __future__ import annotations

import struct

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._observe import (
    crossing,
    perf_events,
    tracefs,
    tracepoints,
)
from ansible_collections.offload.lab.tests.unit.plugins.module_utils._observe.test_tracepoints import (
    FORMATS,
)

DEVICE = {"name": "eth0", "netns": "blue"}


def sent(layout, name, **values):
    """Return a record of the ring, as the kernel writes it."""
    record = bytearray(72 + len(name) + 1)
    for field, value in {"name": 72 | (len(name) + 1) << 16, **values}.items():
        offset, size = layout.fields[field]
        record[offset : offset + size] = value.to_bytes(size, "little")
    record[72:] = name.encode() + b"\0"
    head = perf_events.RECORD.pack(perf_events.SAMPLE, 0, perf_events.RECORD.size + 4 + len(record))
    return head + struct.pack("=I", len(record)) + bytes(record)


class Group:
    """In place of the kernel."""

    def __init__(self, events, _pages):
        self.events = events
        self.records = []
        self.counts = [0] * len(events)
        self.closed = False

    def state(self):
        return perf_events.State(sum(self.counts) / 1e6, list(self.counts))

    def take(self):
        records, self.records = self.records, []
        return records

    def enable(self):
        pass

    disable = enable

    def close(self):
        self.closed = True


@pytest.fixture
def kernel(monkeypatch):
    texts = {name: text for name, text in FORMATS.items() if name in crossing.EVENTS}
    monkeypatch.setattr(tracefs, "formats", lambda names: texts)
    monkeypatch.setattr(tracepoints, "namesakes", lambda names: dict.fromkeys(names, 1))
    monkeypatch.setattr(perf_events, "Group", Group)
    yield
    crossing._ready.clear()
    crossing._current.clear()


def test_records_become_counts_of_their_device(kernel):
    counts = crossing.Crossing([DEVICE])
    layout = counts.layouts[crossing.START_XMIT]
    counts.begin()
    cut = sent(layout, "eth0", len=60000, gso_size=1448, ip_summed=3)
    written = cut + sent(layout, "eth0", len=66) + sent(layout, "other0", len=66)
    counts.stop()
    counts.written.append((counts.sources.index(crossing.START_XMIT), written))
    counts.group.counts[counts.sources.index(crossing.START_XMIT)] = 21
    crossed = counts.end()
    row = crossed["devices"]["blue/eth0"]
    assert (row["sent"], row["cut"], row["checksum_left"]) == (14, 7, 7)
    assert (row["sent_bytes"], row["cut_bytes"]) == (7 * 60066, 7 * 60000)
    assert row["received"] == row["into_gro"] == 0 and row["namespaces"] == 1
    assert crossed["cost_s"] >= 21 * crossing.EACH


def test_one_trial_is_counted_at_a_time(kernel):
    crossing.prepare([DEVICE])
    crossing.begin("first")
    crossing.begin("second")
    assert crossing.end("first") is None
    assert set(crossing.end("second")["devices"]) == {"blue/eth0"}
    assert crossing.end("second") is None


def test_the_events_stay_open_for_the_same_devices(kernel):
    crossing.prepare([DEVICE])
    (first,) = crossing._ready.values()
    crossing.prepare([DEVICE])
    assert list(crossing._ready.values()) == [first]
    crossing.prepare([{"name": "eth1"}])
    assert first.group.closed and list(crossing._ready.values()) != [first]


def test_a_kernel_that_forbids_it_counts_nothing(monkeypatch):
    def refuse(names):
        raise LabError("no")

    monkeypatch.setattr(tracefs, "formats", refuse)
    crossing.prepare([DEVICE])
    crossing.begin("trial")
    assert crossing.end("trial") is None


def test_turns_keep_the_cost_below_the_limit():
    busy = 0.2  # s of CPU time for each second of counting
    length, spent, counted = crossing.FIRST, 0.0, 0.0
    for turn in range(40):
        spent += length * busy
        counted += length
        elapsed = (turn + 1) * crossing.TURN
        length = crossing.next_turn(spent, elapsed, busy, length)
        assert spent <= crossing.LIMIT * (elapsed + crossing.TURN)
    assert counted > 0.1  # of 10 s


def test_few_packets_are_counted_all_the_time():
    assert crossing.next_turn(0.0, 1.0, 0.0, crossing.TURN) == crossing.TURN
    assert crossing.next_turn(1.0, 1.0, 0.1, crossing.TURN) == 0
