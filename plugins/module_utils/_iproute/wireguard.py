# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: to which address a WireGuard device sends what it encrypts, from the output of wg(8).

``wg show DEVICE allowed-ips`` and ``wg show DEVICE endpoints`` have a line for each peer: its public key, a
tab, and networks or the endpoint. The keys are compared and never shown.
"""

from __future__ import annotations

import ipaddress
from typing import Iterator


def _rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each peer's key and the words after it."""
    for line in text.splitlines():
        key, tab, rest = line.partition("\t")
        if tab:
            yield key, rest.split()


def peer_for(allowed_ips: str, address: str) -> str | None:
    """Return the key of the peer that gets the packets for an address: the longest prefix wins."""
    wanted = ipaddress.ip_address(address)
    best: tuple[int, str] | None = None
    for key, words in _rows(allowed_ips):
        for word in words:
            try:
                network = ipaddress.ip_network(word, strict=False)
            except ValueError:  # "(none)"
                continue
            inside = network.version == wanted.version and wanted in network
            if inside and (best is None or network.prefixlen > best[0]):
                best = (network.prefixlen, key)
    return best[1] if best else None


def endpoint_of(endpoints: str, peer: str) -> str | None:
    """Return the address of a peer's endpoint; None where it has none yet."""
    for key, words in _rows(endpoints):
        if key == peer and words:
            host = words[0].rpartition(":")[0].strip("[]")
            try:
                return str(ipaddress.ip_address(host))
            except ValueError:
                return None
    return None
