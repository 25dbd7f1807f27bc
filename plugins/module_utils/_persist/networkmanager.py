# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: settings as properties ``ethtool.…`` of a connection of NetworkManager
(nm-settings-nmcli(5)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Features whose property is not named as the listing of ethtool names them.
SHORT = {
    "rx-checksumming": "rx",
    "generic-segmentation-offload": "gso",
    "generic-receive-offload": "gro",
    "large-receive-offload": "lro",
    "rx-vlan-offload": "rxvlan",
    "tx-vlan-offload": "txvlan",
    "ntuple-filters": "ntuple",
    "receive-hashing": "rxhash",
}
SAME = frozenset(
    [
        "esp-hw-offload",
        "esp-tx-csum-hw-offload",
        "fcoe-mtu",
        "highdma",
        "hw-tc-offload",
        "l2-fwd-offload",
        "loopback",
        "macsec-hw-offload",
        "rx-all",
        "rx-fcs",
        "rx-gro-hw",
        "rx-gro-list",
        "rx-udp-gro-forwarding",
        "rx-udp_tunnel-port-offload",
        "rx-vlan-filter",
        "rx-vlan-stag-filter",
        "rx-vlan-stag-hw-parse",
        "tls-hw-record",
        "tls-hw-rx-offload",
        "tls-hw-tx-offload",
        "tx-checksum-fcoe-crc",
        "tx-checksum-ip-generic",
        "tx-checksum-ipv4",
        "tx-checksum-ipv6",
        "tx-checksum-sctp",
        "tx-esp-segmentation",
        "tx-fcoe-segmentation",
        "tx-gre-csum-segmentation",
        "tx-gre-segmentation",
        "tx-gso-list",
        "tx-gso-partial",
        "tx-gso-robust",
        "tx-ipxip4-segmentation",
        "tx-ipxip6-segmentation",
        "tx-nocache-copy",
        "tx-scatter-gather",
        "tx-scatter-gather-fraglist",
        "tx-sctp-segmentation",
        "tx-tcp-ecn-segmentation",
        "tx-tcp-mangleid-segmentation",
        "tx-tcp-segmentation",
        "tx-tcp6-segmentation",
        "tx-tunnel-remcsum-segmentation",
        "tx-udp-segmentation",
        "tx-udp_tnl-csum-segmentation",
        "tx-udp_tnl-segmentation",
        "tx-vlan-stag-hw-insert",
    ]
)
RINGS = ("rx", "rx-mini", "rx-jumbo", "tx")


def split(settings: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return ``({property: value}, the settings that no property of NetworkManager 1.26 or later
    expresses)``.
    """
    properties, rest = (
        {},
        {kind: values for kind, values in settings.items() if kind not in ("features", "rings")},
    )
    for bit, value in settings.get("features", {}).items():
        if bit in SHORT or bit in SAME:
            properties[f"ethtool.feature-{SHORT.get(bit, bit)}"] = "on" if value else "off"
        else:
            rest.setdefault("features", {})[bit] = value
    for name, value in settings.get("rings", {}).items():
        if name in RINGS:
            properties[f"ethtool.ring-{name}"] = str(value)
        else:
            rest.setdefault("rings", {})[name] = value
    return properties, rest


def parse_device(text: str) -> str | None:
    """Return the UUID of a device's connection from ``nmcli -g GENERAL.NM-MANAGED,GENERAL.CON-UUID
    device show``.
    """
    lines = [*text.splitlines(), "", ""]
    return lines[1].strip() or None if lines[0].strip() == "yes" else None


def parse_properties(text: str, names: list[str]) -> dict[str, str]:
    """Return ``{property: value}``, empty for one that is not set, from ``nmcli -g NAMES connection
    show``.
    """
    return dict(zip(names, [*text.split("\n"), *[""] * len(names)]))


def modify(uuid: str, properties: Mapping[str, str]) -> list[str]:
    """Return the command that sets properties; an empty value takes one away."""
    return [
        "nmcli",
        "connection",
        "modify",
        uuid,
        *[word for item in sorted(properties.items()) for word in item],
    ]
