# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tracepoints are counted, by the formats of Linux 6.18, and what is made of their records."""

from __future__ import annotations

import mmap
import struct

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._observe import (
    drop_places,
    perf_events,
    tracefs,
    tracepoints,
)
from ansible_collections.offload.lab.tests.support import CHECKOUT

RECORDED = CHECKOUT / "tests/unit/recorded/tracepoints/linux-6.18"
GROUPS = {"kfree_skb": "skb", "tcp_retransmit_skb": "tcp", "tcp_bad_csum": "tcp"}
FORMATS = {
    f"{GROUPS.get(path.stem, 'net')}/{path.stem}": path.read_text()
    for path in RECORDED.glob("*.txt")
}
EVENT_ID = {name: tracefs.parse(text).number for name, text in FORMATS.items()}
ETH0 = tracepoints.TracedDevice("eth0", None, 1500)
SYMBOLS = """\
ffffffff81000000 T _stext
ffffffff81000100 t tcp_v4_rcv
ffffffff81000180 d a_table
ffffffff81000200 T nf_hook_slow
ffffffffc0000000 t veth_xmit\t[veth]
"""


class Group:
    """In place of the kernel: the n-th event counts n; it has the records of a test."""

    kept = ()

    def __init__(self, events):
        self.events = events

    def read(self):
        return list(range(len(self.events)))

    def records(self):
        return self.kept

    def enable(self):
        pass

    disable = close = enable


@pytest.fixture
def kernel(monkeypatch):
    """Give the formats of the kernel, which a test may change."""
    formats = dict(FORMATS)
    monkeypatch.setattr(tracepoints.perf_events, "Group", Group)
    monkeypatch.setattr(tracepoints.tracefs, "formats", lambda _names: formats)
    return formats


def conditions(tracing, counter):
    return [part.event.condition for part in tracing.parts if part.counter == counter]


def test_conditions_name_the_device_and_its_mtu(kernel):
    tracing = tracepoints.Tracing([ETH0])
    assert tracing.missing == []
    assert conditions(tracing, "sent") == ['name == "eth0"']
    assert conditions(tracing, "cut") == ['name == "eth0" && gso_size > 0']
    assert conditions(tracing, "sent_too_long") == ['name == "eth0" && gso_size == 0 && len > 1518']
    assert conditions(tracing, "dropped") == ["protocol != 0"]
    assert len(conditions(tracing, "received_too_long")) == 4
    (sent,) = (part for part in tracing.parts if part.counter == "sent")
    assert sent.event.number == EVENT_ID["net/net_dev_start_xmit"]


def test_a_kernel_that_knows_the_namespace_of_a_device(kernel):
    """Linux 6.18 does not; the field was proposed for a later one."""
    kernel["net/net_dev_start_xmit"] += "\tfield:u64 net_cookie;\toffset:64;\tsize:8;\tsigned:0;\n"
    tracing = tracepoints.Tracing([ETH0])
    assert conditions(tracing, "sent")[0].startswith('name == "eth0" && net_cookie == ')
    assert tracing.counted()["by_namespace"] is True


def test_an_older_kernel_lacks_counters(kernel):
    del kernel["tcp/tcp_bad_csum"]
    kernel["skb/kfree_skb"] = kernel["skb/kfree_skb"].replace("reason", "another")
    kernel["net/net_dev_start_xmit"] = kernel["net/net_dev_start_xmit"].replace("ip_summed", "x")
    tracing = tracepoints.Tracing([ETH0])
    assert tracing.missing == ["bad_tcp_checksums", "checksum_left"]
    assert "dropped" in tracing.counted()["host"]


def test_counts_of_many_events_are_summed(kernel):
    tracing = tracepoints.Tracing([ETH0])
    places = [number for number, part in enumerate(tracing.parts) if part.counter == "into_gro"]
    assert tracing.counted()["devices"]["eth0"]["into_gro"] == sum(places)


def test_without_a_device_the_host_alone_is_counted(kernel):
    traced = tracepoints.Tracing().counted()
    assert traced["devices"] == {} and set(traced["host"]) == set(tracepoints.OF_HOST)


def record(**values):
    """Return a record of kfree_skb or of net_dev_start_xmit."""
    raw = bytearray(64)
    for name, (code, offset) in {"reason": ("I", 36), "location": ("Q", 16)}.items():
        struct.pack_into(code, raw, offset, values.get(name, 0))
    struct.pack_into("H", raw, 60, values.get("gso_segs", 0))
    return bytes(raw)


def test_records_become_reasons_places_and_segments(kernel, monkeypatch, tmp_path):
    symbols = tmp_path / "kallsyms"
    symbols.write_text(SYMBOLS)
    monkeypatch.setattr(drop_places.DropTally.drops, "__defaults__", (str(symbols),))
    tracing = tracepoints.Tracing([ETH0])
    at = {part.counter: number for number, part in enumerate(tracing.parts)}
    monkeypatch.setattr(
        Group,
        "kept",
        [
            *[(at["dropped"], record(reason=10, location=0xFFFFFFFF810001F0))] * 3,
            (at["dropped"], record(reason=12, location=0xFFFFFFFF81000210)),
            (at["cut"], record(gso_segs=44)),
            (at["cut"], record(gso_segs=2)),
        ],
    )
    tracing.begin()
    tracing.end()
    traced = tracing.counted()
    assert traced["drops"] == [
        {"reason": "TCP_CSUM", "place": "tcp_v4_rcv", "count": 3},
        {"reason": "NETFILTER_DROP", "place": "nf_hook_slow", "count": 1},
    ]
    assert traced["segments"] == {"eth0": 23}


def test_drops_of_a_healthy_host_are_left_out_of_trials(kernel, monkeypatch):
    monkeypatch.setattr(drop_places, "_watches", [])
    record_of_drop = (0, record(reason=10))
    monkeypatch.setattr(Group, "kept", [record_of_drop])
    assert list(drop_places.read().values()) == [1]
    assert list(drop_places.read().values()) == [2]
    (event,) = drop_places._watches[0].group.events
    assert event.condition.startswith("reason != 2 && reason != 3 && ")  # NOT_SPECIFIED, NO_SOCKET
    assert "reason != 10 " not in event.condition
    monkeypatch.setattr(drop_places._watches[0], "process", 0)  # the parent's
    assert list(drop_places.read().values()) == [1]


def test_a_kernel_that_allows_no_tracepoints_has_no_drops(kernel, monkeypatch):
    monkeypatch.setattr(drop_places, "_watches", [])
    kernel["skb/kfree_skb"] = "ID: 1\n"
    assert drop_places.read() == {} == drop_places.read()


def test_functions_of_addresses(tmp_path):
    symbols = tmp_path / "kallsyms"
    symbols.write_text(SYMBOLS)
    addresses = [0xFFFFFFFF81000101, 0xFFFFFFFF810001FF, 0xFFFFFFFFC0000010, 5]
    assert list(drop_places.functions(addresses, str(symbols)).values()) == [
        "tcp_v4_rcv",
        "tcp_v4_rcv",
        "veth_xmit",
    ]


def test_a_kernel_that_hides_its_addresses_names_no_function(tmp_path):
    symbols = tmp_path / "kallsyms"
    symbols.write_text("0000000000000000 T _stext\n0000000000000000 t tcp_v4_rcv\n")
    assert drop_places.functions([0xFFFFFFFF81000101], str(symbols)) == {}


def test_online_cpus():
    assert perf_events.online_cpus("0-2,5,8-9\n") == [0, 1, 2, 5, 8, 9]


def test_a_ring_is_read_across_its_end(monkeypatch):
    size = perf_events.RING_PAGES * mmap.PAGESIZE
    ring = perf_events._Ring.__new__(perf_events._Ring)
    ring.size = size
    ring.memory = mmap.mmap(-1, size + mmap.PAGESIZE)
    written = [perf_events.RECORD.pack(9, 0, 32) + bytes(4) + bytes([n]) * 20 for n in (1, 2)]
    lost = perf_events.RECORD.pack(2, 0, 24) + bytes(16)
    text = written[0] + lost + written[1]
    start = size - 40
    for index, value in enumerate(text):
        ring.memory[mmap.PAGESIZE + (start + index) % size] = value
    struct.pack_into("Q", ring.memory, perf_events.HEAD, start + len(text))
    struct.pack_into("Q", ring.memory, perf_events.TAIL, start)
    assert list(perf_events.parsed(ring.take())) == [bytes([1]) * 20, bytes([2]) * 20]
    assert ring.take() == b""
    ring.memory.close()


def test_a_machine_whose_system_call_is_not_known(monkeypatch):
    monkeypatch.setattr(perf_events, "CALLS", {})
    with pytest.raises(LabError, match="unknown system call on"):
        perf_events.Group([perf_events.Event(1, "")])


def test_a_kernel_without_tracefs_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(tracefs, "PLACE", str(tmp_path / "none"))

    def refuse():
        raise tracefs.unavailable("tracefs cannot be mounted (No such device)")

    monkeypatch.setattr(tracefs, "_mount", refuse)
    with pytest.raises(LabError, match="tracefs cannot be mounted"):
        tracefs.formats(["skb/kfree_skb"])


def test_formats_are_read_where_tracefs_is_mounted(monkeypatch, tmp_path):
    folder = tmp_path / "events/skb/kfree_skb"
    folder.mkdir(parents=True)
    (folder / "format").write_text("ID: 1\n")
    monkeypatch.setattr(tracefs, "PLACE", str(tmp_path))
    assert tracefs.formats(["skb/kfree_skb", "tcp/none"]) == {"skb/kfree_skb": "ID: 1\n"}


def test_names_are_counted_over_namespaces(monkeypatch):
    tables = {1: "lo: " + "0 " * 16 + "\neth0: " + "0 " * 16, 2: "lo: " + "0 " * 16}
    monkeypatch.setattr(tracepoints, "_tables_of_devices", lambda: tables)
    assert tracepoints.namesakes(["lo", "eth0", "eth1"]) == {"lo": 2, "eth0": 1, "eth1": 0}
