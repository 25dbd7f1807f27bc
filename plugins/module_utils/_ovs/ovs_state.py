# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure view of Open vSwitch's database, the words of the one transaction that changes it, and what a
manifest keeps of it: the bridges on a path.

Of the columns ``options`` and ``other_config`` a manifest keeps only the keys that bear on a measurement.
The other keys may be secrets, such as ``psk``, ``private_key`` and ``certificate`` of a tunnel with
IPsec. Keys: ovs-vswitchd.conf.db(5).
"""

from __future__ import annotations

import json
from typing import Any, Collection, Iterable, List, Mapping, TypedDict

from .._base.errors import InputError
from .._base.network import OWNER
from .._base.steps import Step
from .tables import Row, optional

SET_MARK = OWNER + "-set-"  # in external_ids of Open_vSwitch, with the key that we have set
TIMEOUT = 60  # seconds; the userspace datapath takes 18 ms to let go of a port
NOT_OURS = "the {0} exists and is not ours ({1}), so the lab does not change it"
TABLES = ("Open_vSwitch", "Bridge", "Port", "Interface")
Command = List[str]  # a command of ovs-vsctl and its words


class OvsState(TypedDict):
    """What Open vSwitch's database has, see :func:`state_of`."""

    running: bool
    vswitchd: bool
    root: Row
    bridges: dict[str, Row]
    ports: dict[str, Row]


class Port(TypedDict):
    """What a user sets of a port."""

    type: str
    options: dict[str, str]
    other_config: dict[str, str]
    external_ids: dict[str, str]
    protected: bool
    tag: int | None
    trunks: list[int]  # VLANs that a trunk carries; none: all
    owner: str | None


def transaction(commands: Iterable[Command], wait: bool = True) -> Step:
    """Return the step that runs ``commands``, each a list of words, as one transaction.

    Without ``wait`` ovs-vswitchd takes note of it later.
    """
    argv = ["ovs-vsctl", f"--timeout={TIMEOUT}"] + ([] if wait else ["--no-wait"])
    for number, command in enumerate(commands):
        argv += (["--"] if number else []) + list(command)
    return Step(argv)


def quoted(text: object) -> str:
    """Return a key or value as ovs-vsctl reads it without guessing its type: a JSON string."""
    return json.dumps(str(text))


def mark(table: str, name: str, owner: str) -> Command:
    """Return the command that marks a bridge or port as ours."""
    return ["set", table, name, f"external_ids:{OWNER}={quoted(owner)}"]


def empty() -> OvsState:
    """Return the state of a host where Open vSwitch does not run."""
    return {"running": False, "vswitchd": False, "root": {}, "bridges": {}, "ports": {}}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def state_of(tables: list[list[Row]], running: bool = True, vswitchd: bool = True) -> OvsState:
    """Return the state that the rows of the four TABLES show.

    ``running`` says whether ovsdb-server runs, ``vswitchd`` whether ovs-vswitchd does. A port has
    its row's columns, its ``bridge`` by name, and its first interface's row as ``interface``.
    """
    root, bridges, ports, interfaces = tables
    bridge_of: dict[str, str] = {}
    for row in bridges:
        bridge_of.update(dict.fromkeys(_as_list(row["ports"]), row["name"]))
    interface_of = {row["_uuid"]: row for row in interfaces}
    return {
        "running": running,
        "vswitchd": vswitchd,
        "root": root[0] if root else {},
        "bridges": {row["name"]: row for row in bridges},
        "ports": {
            row["name"]: dict(
                row,
                bridge=bridge_of.get(row["_uuid"]),
                interface=interface_of.get((_as_list(row["interfaces"]) or [None])[0], {}),
            )
            for row in ports
        },
    }


def owner_of(row: Row) -> str | None:
    """Return our mark on a bridge or port (``switch``, ``tunnel``, ``tenants``), or None when it is
    not ours.
    """
    return row.get("external_ids", {}).get(OWNER)


def check_bridge(state: OvsState, bridge: str) -> None:
    """Raise InputError when the bridge is there and is not ours."""
    row = state["bridges"].get(bridge)
    if row is not None and owner_of(row) is None:
        raise InputError(
            NOT_OURS.format("bridge", f"there is no external_ids:{OWNER}"),
            bridge,
            "Set offload_lab_bridge to a name that no bridge has, such as br-offload.",
        )


def check_ready(state: OvsState, bridge: str) -> None:
    """Raise InputError when ports cannot be added: the bridge is not there, or ovs-vswitchd does
    not run.
    """
    if bridge not in state["bridges"]:
        raise InputError(
            "there is no such bridge", bridge, "Make it first: role offload.lab.switch."
        )
    if not state["vswitchd"]:
        raise InputError("ovs-vswitchd does not run", bridge, "Start it: role offload.lab.switch.")


def check_ports(state: OvsState, bridge: str, names: Iterable[str], owner: str) -> None:
    """Raise InputError when a port is there and belongs to somebody else or to another bridge."""
    for name in names:
        port = state["ports"].get(name)
        if port is not None and port["bridge"] != bridge:
            raise InputError(
                f"the port is on bridge {port['bridge']}, not on {bridge}",
                name,
                "Choose another name, or remove it there first.",
            )
        if port is not None and owner_of(port) != owner:
            raise InputError(
                NOT_OURS.format("port", f"external_ids:{OWNER} is not {owner}"),
                name,
                "Choose another name for the lab's port.",
            )


def complaint(state: OvsState, names: Iterable[str]) -> str | None:
    """Return what Open vSwitch says about the first of these ports that it could not set up, or
    None.
    """
    for name in names:
        error = optional(state["ports"].get(name, {}).get("interface", {}).get("error", []))
        if error:
            return f"{name}: {error}"
    return None


def summary(port: Row) -> Port:
    """Return what a user sets of a port, for results and diffs."""
    return {
        "type": port["interface"].get("type", ""),
        "options": dict(port["interface"].get("options", {})),
        "other_config": dict(port["other_config"]),
        "external_ids": {key: value for key, value in port["external_ids"].items() if key != OWNER},
        "protected": port["protected"],
        "tag": optional(port["tag"]),
        "trunks": sorted(_as_list(port.get("trunks", []))),
        "owner": owner_of(port),
    }


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
