# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base import packet
from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._nodes import faults

from .._base.frames import FRAMES, TCP_HEAD, ipv4, is_right, sent, udp, vxlan

CONTENT = bytes(range(100)) * 3 + b"x"  # of odd length


def tcp(content=CONTENT, **gso):
    return sent(ipv4(6, TCP_HEAD + content), **gso)


def datagram(content=CONTENT, port=2000, **gso):
    return sent(ipv4(17, udp(content, port)), **gso)


def after(text, *raws):
    """Return what arrives of packets, and in how many seconds."""
    fault = faults.parse(text)
    chance = random.Random(1)
    frames_out = []
    for raw in raws:
        frames_out += fault.kind(raw, chance) if fault.strikes(raw, chance) else [(0, raw)]
    return frames_out


def content_of(raw):
    return raw[packet.layers(raw).payload :]


def changed(text, raw=None):
    """Return the one packet that arrives."""
    ((delay, part),) = after(text, raw or datagram())
    assert delay == 0
    return part


@pytest.mark.parametrize("raw", [tcp(), datagram()])
def test_a_bit_is_flipped_before_or_behind_the_checksum(raw):
    before = changed("bit_flipped", raw)
    behind = changed("bit_flipped_late", raw)
    for part in (before, behind):
        differing = [first for first, two in zip(content_of(part), CONTENT) if first != two]
        assert len(differing) == 1
    assert (is_right(before), is_right(behind)) == (True, False)


def test_a_super_packet_is_handed_over_uncut():
    raw = tcp(CONTENT * 10, kind=packet.TCP4, size=1000)
    part = changed("uncut:1:tso", raw)
    assert content_of(part) == CONTENT * 10 and is_right(part)
    assert packet.gso_kind(part) == 0 and packet.segment_size(part) == 0


def test_garbage_is_vouched_for():
    part = changed("vouched")
    assert part[0] == packet.NEEDS_CHECKSUM  # what comes so from a tap is not checked
    assert not is_right(part)


@pytest.mark.parametrize("kind", ["checksum_unfilled", "checksum_short"])
def test_a_wrong_checksum_is_nothing_that_the_device_speaks_of(kind):
    part = changed(kind)
    assert content_of(part) == CONTENT
    assert part[: packet.FRAME] == packet.NO_OFFLOAD
    assert not is_right(part)


def test_a_checksum_is_left_unfilled_in_packets_without_content():
    assert not is_right(changed("checksum_unfilled", tcp(b"")))
    assert changed("bit_flipped", tcp(b"")) == tcp(b"")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("last_byte_zeroed", CONTENT[:-1] + b"\0"),
        ("last_byte_lost", CONTENT[:-1]),
        ("truncated", CONTENT[:151]),
        ("zeroed", bytes(301)),
    ],
)
def test_content_is_lost_with_a_right_checksum(kind, expected):
    part = changed(kind)
    assert content_of(part) == expected
    assert is_right(part)


def test_the_last_segment_has_the_wrong_length():
    parts = [part for _delay, part in after("length_wrong", datagram(kind=packet.UDP, size=100))]
    lengths = [packet.word(part, packet.layers(part).ip.payload + 4) for part in parts]
    assert lengths == [108, 108, 108, 17]


def test_two_datagrams_become_one():
    (merged,) = after("merged", datagram(b"one"), datagram(b"two"))
    assert content_of(merged[1]) == b"onetwo"
    assert is_right(merged[1])
    cut = after("merged", datagram(b"abcdef", kind=packet.UDP, size=2))
    assert [content_of(part) for _delay, part in cut] == [b"abcd", b"ef"]


def test_datagrams_of_two_flows_stay_two():
    arrived = after("merged:1:udp", datagram(b"one"), datagram(b"two", port=2001), tcp())
    assert [content_of(part) for _delay, part in arrived] == [b"one", b"two", CONTENT]


def test_segments_are_swapped_reordered_and_lost():
    raw = tcp(b"aabbcc", kind=packet.TCP4, size=2)
    arrived = {
        kind: [content_of(part) for _delay, part in after(kind, raw)]
        for kind in ("swapped", "reordered", "segment_dropped")
    }
    assert arrived["swapped"] == [b"bb", b"aa", b"cc"]
    assert arrived["reordered"] == [b"bb", b"aa", b"cc"]
    assert len(arrived["segment_dropped"]) == 2


def test_whole_packets():
    raw = tcp()
    assert after("dropped", raw) == []
    assert after("delayed", raw) == [(faults.LATE, raw)]
    assert after("duplicated", raw) == [(0, raw), (0, raw)]
    assert after("reordered", raw) == [(faults.OVERTAKEN, raw)]


SUPER = tcp(bytes(200), kind=packet.TCP4, size=100)


@pytest.mark.parametrize(
    ("condition", "concerned", "spared"),
    [
        ("tx", tcp(), tcp(flags=0)),
        ("tso", SUPER, tcp()),
        ("uso", datagram(kind=packet.UDP, size=100), SUPER),
        ("tunnel", sent(ipv4(17, vxlan(bytes(12) + ipv4(17, udp(b"x"))))), datagram()),
        ("tcp", tcp(), datagram()),
        ("udp", datagram(), tcp()),
        ("odd", datagram(b"123"), datagram(b"12")),
        ("above=150", tcp(), SUPER),
        ("below=100", datagram(b"1"), tcp()),
        ("whole_segments", SUPER, tcp(bytes(201), kind=packet.TCP4, size=100)),
        ("one_segment", tcp(bytes(101), kind=packet.TCP4, size=100), SUPER),
        ("zero_sum", datagram(bytes(30)), datagram(b"12")),
        ("zero_sum", datagram(b"\xff" * 30), datagram(b"\xff" * 31)),
        ("tso+above=50", SUPER, tcp()),
    ],
)
def test_conditions_tell_packets_apart(condition, concerned, spared):
    text = f"dropped:1:{condition}"
    assert after(text, concerned) == []
    assert after(text, spared) == [(0, spared)]


def test_a_fault_after_packets_and_of_one_flow():
    raw = tcp()
    assert len(after("dropped:1:after=2", *[raw] * 5)) == 2
    flows = [datagram(port=port) for port in range(1, 41)]
    assert len(after("dropped:1:flow=8", *flows)) == 35


def test_a_rate_is_kept():
    arrived = after("dropped:0.1", *[datagram()] * 2000)
    assert 1740 < len(arrived) < 1860


def test_gro_is_the_wires_to_know():
    fault = faults.parse("merged:1:gro+udp")
    assert fault.needs_gro
    assert fault.strikes(datagram(), random.Random(1))
    assert not fault.strikes(tcp(), random.Random(1))


def test_honest_is_no_fault():
    assert faults.parse("honest") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no fault"),
        ("flipped", "'flipped' is no fault. Use honest, or one of bit_flipped, "),
        ("dropped:2", "'2' is no rate"),
        ("dropped:nan", "'nan' is no rate"),
        ("dropped:1:above", "'above' is no condition"),
        ("dropped:1:above=0", "'above=0' is no condition"),
        ("dropped:1:tso:tx", "more than three parts"),
    ],
)
def test_a_wrong_text_is_refused(text, message):
    with pytest.raises(InputError) as error:
        faults.parse(text)
    assert message in str(error.value)


@given(
    st.sampled_from(faults.KINDS),
    st.sampled_from(["", ":0.5", ":1e-4"]),
    st.lists(st.sampled_from([*faults.CONDITIONS, "gro", "above=9"])),
)
def test_what_is_written_as_documented_is_a_fault(kind, rate, conditions):
    text = kind + rate + (":" + "+".join(conditions) if rate and conditions else "")
    assert faults.parse(text).text == text


@given(st.text())
@example("dropped:²")
@example("dropped:1:flow=²")
def test_any_text_is_a_fault_or_a_message(text):
    try:
        faults.parse(text)
    except InputError as error:
        assert "NIC" in str(error)


@pytest.mark.parametrize("kind", faults.KINDS)
@pytest.mark.parametrize("name", FRAMES)
@given(content=st.binary(max_size=300), size=st.integers(0, 300))
def test_every_fault_takes_every_packet(kind, name, content, size):
    frame, gso = FRAMES[name]
    for _delay, part in after(kind, sent(frame(content), gso if size else 0, size)):
        assert len(part) > packet.FRAME
