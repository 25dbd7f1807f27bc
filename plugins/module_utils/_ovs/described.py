# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what a manifest keeps of Open vSwitch's database: the bridges on a path, and of their columns
``options`` and ``other_config`` the keys that bear on a measurement.

The other keys may be secrets, such as ``psk``, ``private_key`` and ``certificate`` of a tunnel with
IPsec. Keys: ovs-vswitchd.conf.db(5).
"""

from __future__ import annotations

from typing import Any, Collection, Iterable, Mapping

from .ovs_state import owner_of
from .tables import Row

OF_SWITCH = frozenset(
    (
        "doca-init",
        "dpdk-init",
        "dpdk-lcore-mask",
        "emc-insert-inv-prob",
        "flow-limit",
        "hw-offload",
        "max-idle",
        "max-revalidator",
        "n-handler-threads",
        "n-revalidator-threads",
        "pmd-auto-lb",
        "pmd-cpu-mask",
        "smc-enable",
        "tc-policy",
        "tx-flush-interval",
        "userspace-tso-enable",
        "vlan-limit",
    )
)
OF_BRIDGE = frozenset(("flow-eviction-threshold", "mac-aging-time", "mac-table-size"))
OF_INTERFACE = frozenset(
    (
        "csum",
        "df_default",
        "dst_port",
        "egress_pkt_mark",
        "emc-enable",
        "exts",
        "in_key",
        "key",
        "local_ip",
        "n_rxq",
        "n_rxq_desc",
        "n_txq_desc",
        "out_key",
        "packet_type",
        "peer",
        "pmd-rxq-affinity",
        "remote_ip",
        "seq",
        "tos",
        "ttl",
        "tx-steering",
    )
)
LONGEST = 120  # characters of a value


def kept(column: Any, keys: Collection[str]) -> dict[str, str]:
    """Return the values of a column of the database under these keys."""
    values = column if isinstance(column, Mapping) else {}
    return {str(key): str(values[key])[:LONGEST] for key in sorted(keys & values.keys())}


def _uuids(column: Any) -> list[str]:
    return [column] if isinstance(column, str) else list(column or ())


def _interface(row: Row, buffers: Mapping[str, int]) -> dict[str, Any]:
    return {
        "type": row["type"],
        "options": kept(row["options"], OF_INTERFACE),
        "other_config": kept(row["other_config"], OF_INTERFACE),
        "receive_buffer": buffers.get(row["name"]),
    }


def switch(root: Row) -> dict[str, Any]:
    """Return what is kept of Open vSwitch as a whole."""
    return {
        "version": root.get("ovs_version"),
        "other_config": kept(root.get("other_config"), OF_SWITCH),
    }


def bridges(
    tables: Iterable[list[Row]], on_path: Collection[str], buffers: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Return the bridges with their datapath and type, options and receive buffer of each port's
    interfaces, from the tables Bridge, Port and Interface.

    A bridge is kept that is the lab's own, or that is or has one of the devices ``on_path``.
    """
    bridge_rows, port_rows, interface_rows = tables
    ports = {row["_uuid"]: row for row in port_rows}
    interfaces = {row["_uuid"]: row for row in interface_rows}
    described = {}
    for bridge in bridge_rows:
        members: list[Row] = []
        for port in filter(None, map(ports.get, _uuids(bridge["ports"]))):
            members += filter(None, map(interfaces.get, _uuids(port["interfaces"])))
        names = {bridge["name"], *(row["name"] for row in members)}
        if owner_of(bridge) is None and not names.intersection(on_path):
            continue
        described[bridge["name"]] = {
            "datapath": bridge["datapath_type"] or "system",
            "other_config": kept(bridge["other_config"], OF_BRIDGE),
            "interfaces": {row["name"]: _interface(row, buffers) for row in members},
        }
    return described
