# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure planning of bridge ports: from what Open vSwitch has to what is wanted, in one transaction."""

from __future__ import annotations

from itertools import chain
from typing import Any, Mapping, NamedTuple, Sequence, TypedDict, cast

from .._base import checks, network
from .._base.errors import InputError
from .._base.network import OWNER
from .._base.steps import Step
from . import ovs_state
from .ovs_state import Command, OvsState, Port


class PortOptions(TypedDict, total=False):
    """A port as a user asks for it."""

    name: str
    type: str
    options: dict[str, object]
    other_config: dict[str, object]
    external_ids: dict[str, object]
    protected: bool
    tag: int | None
    trunks: list[int]


class PortChanges(NamedTuple):
    """From the ports that are there to those that are wanted."""

    before: dict[str, Port]
    after: dict[str, Port]
    commands: list[Command]  # of one transaction


NEW: Port = {
    "type": "",
    "options": {},
    "other_config": {},
    "external_ids": {},
    "protected": False,
    "tag": None,
    "trunks": [],
    "owner": None,
}


# Of IPsec: ovs-vswitchd.conf.db(5)
SECRETS = frozenset(("ca_cert", "certificate", "password", "private_key", "psk", "remote_cert"))


def _text(value: object) -> str:
    """Return a map's value as OVSDB has it: a string, booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def wanted_port(port: PortOptions, owner: str) -> Port:
    """Return a checked port of the user as :func:`.ovs_state.summary` would show it."""
    network.device_name(port["name"], "port")
    options = {key: value for key, value in port.items() if key in NEW and value is not None}
    result: Any = {**NEW, **options}
    if result["tag"] is not None:
        checks.number(result["tag"], f"tag of {port['name']}", 0, 4095)
    for vlan in result["trunks"]:
        checks.number(vlan, f"trunks of {port['name']}", 0, 4095)
    result["trunks"] = sorted(result["trunks"])
    for column in ("options", "other_config", "external_ids"):
        result[column] = {str(key): _text(value) for key, value in result[column].items()}
    secret = SECRETS.intersection(chain(result["options"], result["other_config"]))
    if secret:
        raise InputError(
            f"the key {min(secret)} holds a secret, and results would show it",
            port["name"],
            "Leave it out: the lab's tunnels have no IPsec.",
        )
    if OWNER in result["external_ids"]:
        raise InputError(
            f"the key {OWNER} marks the owner and cannot be set",
            port["name"],
            "Use the option owner.",
        )
    return cast(Port, {**result, "owner": owner})


def wanted_ports(ports: Sequence[PortOptions], owner: str) -> dict[str, Port]:
    """Return ``{name: wanted}`` for the user's list of ports."""
    checks.unique([port["name"] for port in ports], "port")
    return {port["name"]: wanted_port(port, owner) for port in ports}


def map_commands(
    table: str, name: str, column: str, before: Mapping[str, str], after: Mapping[str, str]
) -> list[Command]:
    """Return the commands that make a map column equal to ``after``."""
    gone = sorted(set(before) - set(after))
    new = sorted(key for key in after if before.get(key) != after[key])
    commands = []
    if gone:
        commands.append(["remove", table, name, column, *map(ovs_state.quoted, gone)])
    if new:
        quoted = {ovs_state.quoted(key): ovs_state.quoted(after[key]) for key in new}
        pairs = [f"{column}:{key}={value}" for key, value in quoted.items()]
        commands.append(["set", table, name, *pairs])
    return commands


def _scalar_commands(name: str, before: Port, after: Port) -> list[Command]:
    commands = []
    if before["type"] != after["type"]:
        commands.append(["set", "Interface", name, f"type={ovs_state.quoted(after['type'])}"])
    if before["protected"] != after["protected"]:
        commands.append(["set", "Port", name, f"protected={_text(after['protected'])}"])
    if before["tag"] != after["tag"]:
        commands.append(
            ["clear", "Port", name, "tag"]
            if after["tag"] is None
            else ["set", "Port", name, f"tag={after['tag']}"]
        )
    if before["trunks"] != after["trunks"]:
        vlans = ",".join(map(str, after["trunks"]))
        commands.append(["set", "Port", name, f"trunks=[{vlans}]"])
    return commands


def port_commands(bridge: str, name: str, before: Port | None, after: Port | None) -> list[Command]:
    """Return the ovs-vsctl commands from ``before`` (None: no such port) to ``after`` (None:
    remove it).
    """
    if after is None:
        return [["del-port", bridge, name]]
    commands = []
    if before is None:
        commands.append(["add-port", bridge, name])
        before = NEW
    commands += _scalar_commands(name, before, after)
    commands += map_commands("Interface", name, "options", before["options"], after["options"])
    commands += map_commands(
        "Port", name, "other_config", before["other_config"], after["other_config"]
    )
    marked = [
        dict(side["external_ids"], **({OWNER: side["owner"]} if side["owner"] else {}))
        for side in (before, after)
    ]
    return commands + map_commands("Port", name, "external_ids", *marked)


def ours(state: OvsState, bridge: str, owner: str) -> dict[str, Port]:
    """Return ``{name: summary}`` of the bridge's ports that carry this owner's mark."""
    return {
        name: ovs_state.summary(port)
        for name, port in state["ports"].items()
        if port["bridge"] == bridge and ovs_state.owner_of(port) == owner
    }


def _tunnel(port: Port) -> tuple[str | None, ...] | None:
    """Return what identifies a tunnel: Open vSwitch refuses a second one of the same.

    None for no tunnel.
    """
    options = port["options"]
    if "remote_ip" not in options:
        return None
    return (
        port["type"],
        options["remote_ip"],
        options.get("local_ip"),
        options.get("key", options.get("in_key")),
        options.get("dst_port"),
    )


def check_tunnels(ports: Mapping[str, Port]) -> None:
    """Raise InputError when two of ``{name: port}`` are the same tunnel."""
    names: dict[tuple[str | None, ...] | None, str] = {}
    for name in sorted(ports):
        tunnel = _tunnel(ports[name])
        if tunnel and tunnel in names:
            raise InputError(
                f"the port {names[tunnel]} is the same tunnel (type, remote_ip, key, dst_port)",
                name,
                "Give one of them another remote_ip or key, or remove it.",
            )
        names[tunnel] = name


def changes(
    state: OvsState,
    bridge: str,
    ports: Mapping[str, Port],
    owner: str,
    *,
    present: bool = True,
    purge: bool = False,
) -> PortChanges:
    """Return the change to ``ports``, which is :func:`wanted_ports`.

    With ``present`` false these ports are removed; a port that is not ours is never touched.
    """
    if present and ports:
        ovs_state.check_bridge(state, bridge)
    ovs_state.check_ports(state, bridge, ports, owner)
    before = ours(state, bridge, owner)
    after: dict[str, Port] = {}
    if not (present and purge):
        after = {name: port for name, port in before.items() if name not in ports}
    if present:
        after.update(ports)
        check_tunnels({**_others(state, before), **after})
    commands: list[Command] = []
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            commands += port_commands(bridge, name, before.get(name), after.get(name))
    return PortChanges(before, after, commands)


def _others(state: OvsState, ours_now: Mapping[str, Port]) -> dict[str, Port]:
    """Return the ports of all bridges that are not ours."""
    ports = state["ports"].items()
    return {name: ovs_state.summary(port) for name, port in ports if name not in ours_now}


def plan(
    state: OvsState,
    bridge: str,
    ports: Mapping[str, Port],
    owner: str,
    *,
    present: bool = True,
    purge: bool = False,
) -> tuple[dict[str, Port], dict[str, Port], list[Step]]:
    """Return ``(before, after, steps)`` for the arguments of :func:`changes`.

    Only a removal is possible without ovs-vswitchd; a plan made before it runs is for when it does.
    """
    before, after, commands = changes(state, bridge, ports, owner, present=present, purge=purge)
    wait = state["vswitchd"] or bool(present and ports)
    return before, after, [ovs_state.transaction(commands, wait=wait)] if commands else []
