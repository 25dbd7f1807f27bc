# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lying NIC does to packets: ``KIND[:RATE[:CONDITION[+CONDITION]]]``. Pure.

``bit_flipped:1e-4:tso`` flips a bit in one of 10,000 packets that the device has to cut.
"""

from __future__ import annotations

import random
from typing import Callable, List, NamedTuple, Tuple

from .._base import packet
from .._base.errors import InputError
from .._base.packet import Layers

Delivery = List[Tuple[float, bytes]]  # packets, each with the seconds by which it comes late
Change = Callable[[bytes, Layers, random.Random], bytes]
Concerns = Callable[[bytes], bool]
Kind = Callable[[bytes, random.Random], Delivery]

HONEST = "honest"
LATE = 1.0  # s
OVERTAKEN = 0.002  # s
SPARED = 10  # bytes that a checksum over the wrong range leaves out


# What becomes of one packet with content, and one segment of a super-packet


def _flip(raw: bytes, headers: Layers, chance: random.Random) -> bytes:
    offset = chance.randrange(headers.payload, len(raw))
    return raw[:offset] + bytes([raw[offset] ^ 1]) + raw[offset + 1 :]


def _bit_flipped(raw: bytes, headers: Layers, chance: random.Random) -> bytes:
    return packet.summed(_flip(raw, headers, chance), headers)


def _bit_flipped_late(raw: bytes, headers: Layers, chance: random.Random) -> bytes:
    return _flip(packet.summed(raw, headers), headers, chance)


def _vouched(raw: bytes, headers: Layers, chance: random.Random) -> bytes:
    return packet.trusted(_flip(raw, headers, chance), headers)


def _checksum_unfilled(raw: bytes, headers: Layers, _chance: random.Random) -> bytes:
    offset = packet.checksum_place(headers.ip)
    return packet.said(raw if offset is None else packet.put(raw, offset, 0x1234), 0)


def _checksum_short(raw: bytes, headers: Layers, _chance: random.Random) -> bytes:
    return packet.summed(raw, headers, max(headers.payload, len(raw) - SPARED))


def _last_byte_zeroed(raw: bytes, headers: Layers, _chance: random.Random) -> bytes:
    return packet.summed(raw[:-1] + b"\0", headers)


def _last_byte_lost(raw: bytes, headers: Layers, _chance: random.Random) -> bytes:
    return packet.summed(packet.resized(raw[:-1], headers), headers)


def _truncated(raw: bytes, headers: Layers, _chance: random.Random) -> bytes:
    half = raw[: (headers.payload + len(raw) + 1) // 2]
    return packet.summed(packet.resized(half, headers), headers)


def _length_wrong(raw: bytes, headers: Layers, _chance: random.Random) -> bytes:
    if headers.ip.protocol != packet.PROTOCOL_UDP:
        return raw
    return packet.put(raw, headers.ip.payload + 4, len(raw) - headers.ip.payload + 8)


def _zeroed(raw: bytes, headers: Layers, _chance: random.Random) -> bytes:
    return packet.summed(raw[: headers.payload] + bytes(len(raw) - headers.payload), headers)


LAST = ("last_byte_zeroed", "last_byte_lost", "length_wrong", "truncated")
CHANGES: dict[str, Change] = {
    "bit_flipped": _bit_flipped,  # before the checksum is made
    "bit_flipped_late": _bit_flipped_late,  # behind it
    "checksum_short": _checksum_short,  # made over the wrong range
    "checksum_unfilled": _checksum_unfilled,
    "last_byte_lost": _last_byte_lost,
    "last_byte_zeroed": _last_byte_zeroed,
    "length_wrong": _length_wrong,  # in the header of UDP
    "truncated": _truncated,
    "vouched": _vouched,  # wrong, and the device says that it is right
    "zeroed": _zeroed,
}


# Such a card breaks the packets that open a connection, too: they have no content.
OF_HEADERS = ("checksum_unfilled",)


def _one_changed(name: str) -> Kind:
    """Return what changes a packet, or one segment of it: the last where the fault is at the end."""
    change = CHANGES[name]

    def kind(raw: bytes, chance: random.Random) -> Delivery:
        headers = packet.layers(raw)
        if headers is None or (len(raw) <= headers.payload and name not in OF_HEADERS):
            return [(0, raw)]
        parts = packet.segments(raw)
        index = len(parts) - 1 if name in LAST else chance.randrange(len(parts))
        parts[index] = change(parts[index], headers, chance)
        return [(0, part) for part in parts]

    return kind


# What becomes of whole packets


def _dropped(_raw: bytes, _chance: random.Random) -> Delivery:
    return []


def _delayed(raw: bytes, _chance: random.Random) -> Delivery:
    return [(LATE, raw)]


def _duplicated(raw: bytes, _chance: random.Random) -> Delivery:
    return [(0, raw), (0, raw)]


def _reordered(raw: bytes, _chance: random.Random) -> Delivery:
    parts = packet.segments(raw)
    if len(parts) == 1:
        return [(OVERTAKEN, raw)]
    return [(0, part) for part in (parts[1], parts[0], *parts[2:])]


def _segment_dropped(raw: bytes, chance: random.Random) -> Delivery:
    parts = packet.segments(raw)
    del parts[chance.randrange(len(parts))]
    return [(0, part) for part in parts]


def _uncut(raw: bytes, _chance: random.Random) -> Delivery:
    """Hand a super-packet over whole, with its checksum, and without a word of where to cut it."""
    headers = packet.layers(raw)
    if headers is None:
        return [(0, raw)]
    return [(0, packet.summed(packet.resized(raw, headers), headers))]


def _swapped(raw: bytes, _chance: random.Random) -> Delivery:
    """Give the first two segments each other's content."""
    headers = packet.layers(raw)
    parts = packet.segments(raw)
    if headers is None or len(parts) < 3:
        return [(0, raw)]
    first, second = parts[:2]
    parts[0] = packet.summed(first[: headers.payload] + second[headers.payload :], headers)
    parts[1] = packet.summed(second[: headers.payload] + first[headers.payload :], headers)
    return [(0, part) for part in parts]


def _merged(held: list[bytes]) -> Kind:
    """Return what makes one datagram of a datagram and the next one of its flow."""

    def kind(raw: bytes, _chance: random.Random) -> Delivery:
        parts = held + packet.segments(raw)
        held.clear()
        headers = packet.layers(raw)
        if headers is None or headers.ip.protocol != packet.PROTOCOL_UDP:
            return [(0, part) for part in parts]
        if len(parts) == 1:
            held.append(parts[0])
            return []
        first, second = parts[:2]
        if flow_of(first) != flow_of(second):
            return [(0, part) for part in parts]
        merged = packet.summed(packet.resized(first + second[headers.payload :], headers), headers)
        return [(0, part) for part in (merged, *parts[2:])]

    return kind


WHOLE: dict[str, Kind] = {
    "delayed": _delayed,  # by a second
    "dropped": _dropped,
    "duplicated": _duplicated,
    "reordered": _reordered,
    "segment_dropped": _segment_dropped,
    "swapped": _swapped,
    "uncut": _uncut,
}
MERGED = "merged"
KINDS = sorted([*CHANGES, *WHOLE, MERGED])


def _kind(name: str, held: list[bytes]) -> Kind:
    if name == MERGED:
        return _merged(held)
    return WHOLE[name] if name in WHOLE else _one_changed(name)


# Which packets are concerned


def flow_of(raw: bytes) -> bytes:
    """Return addresses, protocol and ports of the innermost packet."""
    headers = packet.layers(raw)
    if headers is None:
        return b""
    ip = headers.ip
    addresses = raw[ip.start + 12 : ip.start + 20] if ip.version == 4 else raw[ip.start + 8 :][:32]
    return addresses + bytes([ip.protocol]) + raw[ip.payload : ip.payload + 4]


def _tso(raw: bytes) -> bool:
    return packet.gso_kind(raw) in (packet.TCP4, packet.TCP6)


def _uso(raw: bytes) -> bool:
    return packet.gso_kind(raw) == packet.UDP


def _tunnel(raw: bytes) -> bool:
    headers = packet.layers(raw)
    return headers is not None and headers.tunnel is not None


def _protocol(number: int) -> Concerns:
    def concerns(raw: bytes) -> bool:
        headers = packet.layers(raw)
        return headers is not None and headers.ip.protocol == number

    return concerns


def _odd(raw: bytes) -> bool:
    headers = packet.layers(raw)
    return headers is not None and (len(raw) - headers.payload) % 2 == 1


def _whole_segments(raw: bytes) -> bool:
    headers = packet.layers(raw)
    size = packet.segment_size(raw)
    return headers is not None and size > 0 and (len(raw) - headers.payload) % size == 0


def _one_segment(raw: bytes) -> bool:
    headers = packet.layers(raw)
    size = packet.segment_size(raw)
    return headers is not None and 0 < size < len(raw) - headers.payload <= size + 1


def _zero_sum(raw: bytes) -> bool:
    headers = packet.layers(raw)
    if headers is None:
        return False
    length = len(raw) - headers.payload
    return length > 0 and packet.ones_sum(raw[headers.payload :]) == 0


def wire_length(raw: bytes) -> int:
    """Return the bytes that the longest packet of IP has on the wire."""
    headers = packet.layers(raw)
    size = packet.segment_size(raw)
    length = len(raw) - packet.FRAME - packet.ETHERNET
    if headers is None or not size:
        return length
    return min(length, headers.payload - packet.FRAME - packet.ETHERNET + size)


CONDITIONS: dict[str, Concerns] = {
    "odd": _odd,  # payload of odd length
    "one_segment": _one_segment,  # a segment, and one byte or none
    "tcp": _protocol(packet.PROTOCOL_TCP),
    "tso": _tso,
    "tunnel": _tunnel,
    "tx": packet.relies_on_checksum,
    "udp": _protocol(packet.PROTOCOL_UDP),
    "uso": _uso,
    "whole_segments": _whole_segments,  # the last segment has the length of the others
    "zero_sum": _zero_sum,  # the checksum of the payload alone is 0x0000 or 0xffff
}


def _above(number: int) -> Concerns:
    return lambda raw: wire_length(raw) > number


def _below(number: int) -> Concerns:
    return lambda raw: wire_length(raw) < number


def _after(number: int) -> Concerns:
    count = [0]

    def concerns(_raw: bytes) -> bool:
        count[0] += 1
        return count[0] > number

    return concerns


def _flow(number: int) -> Concerns:
    return lambda raw: sum(flow_of(raw)) % number == 0


WITH_NUMBER: dict[str, Callable[[int], Concerns]] = {
    "above": _above,  # bytes of the packet of IP
    "after": _after,  # packets
    "below": _below,
    "flow": _flow,  # one flow of this number
}
GRO = "gro"  # the receiving device has GRO on: the wire knows it


class Fault(NamedTuple):
    """What happens to which packets."""

    text: str
    kind: Kind
    rate: float
    conditions: list[Concerns]
    needs_gro: bool  # it is in what the device receives, and only while GRO is on
    held: list[bytes]  # what waits for the next packet

    def strikes(self, raw: bytes, chance: random.Random) -> bool:
        """Return whether it happens to this packet."""
        if self.held:
            return True
        if not all(concerns(raw) for concerns in self.conditions):
            return False
        return self.rate >= 1 or chance.random() < self.rate


def parse(text: str) -> Fault | None:
    """Return the fault that a text names, None for ``honest``; raise :class:`InputError`."""
    if text == HONEST:
        return None
    name, rate, conditions = [*text.split(":"), "", ""][:3]
    if text.count(":") > 2:
        raise _refused("more than three parts", text, "Join conditions with +.")
    if name not in KINDS:
        raise _refused(
            f"{name!r} is no fault", text, f"Use {HONEST}, or one of {', '.join(KINDS)}."
        )
    named = [part for part in conditions.split("+") if part]
    held: list[bytes] = []
    return Fault(
        text,
        _kind(name, held),
        _rate(rate, text),
        [_condition(part, text) for part in named if part != GRO],
        GRO in named,
        held,
    )


def _refused(what: str, text: str, to_do: str) -> InputError:
    return InputError(what, f"NIC {text!r}", to_do)


def _rate(text: str, fault: str) -> float:
    try:
        rate = float(text or 1)
    except ValueError:
        rate = 0
    if not 0 < rate <= 1:
        raise _refused(f"{text!r} is no rate", fault, "Write a share of the packets, like 0.01.")
    return rate


def _condition(text: str, fault: str) -> Concerns:
    name, _equals, number = text.partition("=")
    if text in CONDITIONS:
        return CONDITIONS[text]
    if name in WITH_NUMBER and number.isascii() and number.isdigit() and 0 < int(number) < 2**31:
        return WITH_NUMBER[name](int(number))
    names = [*CONDITIONS, GRO, *(f"{names}=N" for names in WITH_NUMBER)]
    raise _refused(f"{text!r} is no condition", fault, f"Use {', '.join(sorted(names))}.")
