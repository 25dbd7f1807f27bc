# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure planning of bridge ports: from what Open vSwitch has to what is wanted, in one transaction."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, cast

from .._base import checks, network
from .._base.errors import InputError
from .._base.marks import OWNER
from .._base.steps import Step
from . import state as ovs_state
from .state import Command, Port, State

NEW: Port = {
    "type": "",
    "options": {},
    "other_config": {},
    "external_ids": {},
    "protected": False,
    "tag": None,
    "owner": None,
}


def _text(value: object) -> str:
    """Return a map's value as OVSDB has it: a string, booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def wanted_port(port: Mapping[str, Any], owner: str) -> Port:
    """Return a checked port of the user as :func:`_ovs_state.summary` would show it."""
    network.device_name(port["name"], "port")
    wanted: dict[str, Any] = dict(
        NEW, **{key: port[key] for key in NEW if port.get(key) is not None}
    )
    if wanted["tag"] is not None:
        checks.number(wanted["tag"], f"tag of {port['name']}", 0, 4095)
    for column in ("options", "other_config", "external_ids"):
        wanted[column] = {str(key): _text(value) for key, value in wanted[column].items()}
    if OWNER in wanted["external_ids"]:
        raise InputError(
            f"the key {OWNER} marks the owner and cannot be set",
            port["name"],
            "Use the option owner.",
        )
    return cast(Port, dict(wanted, owner=owner))


def wanted_ports(ports: Sequence[Mapping[str, Any]], owner: str) -> dict[str, Port]:
    """Return ``{name: wanted}`` for the user's list of ports."""
    checks.unique([port["name"] for port in ports], "port")
    return {port["name"]: wanted_port(port, owner) for port in ports}


def map_commands(
    table: str, name: str, column: str, before: Mapping[str, str], wanted: Mapping[str, str]
) -> list[Command]:
    """Return the commands that make a map column equal to ``wanted``."""
    gone = sorted(set(before) - set(wanted))
    new = sorted(key for key in wanted if before.get(key) != wanted[key])
    commands = (
        [["remove", table, name, column] + [ovs_state.quoted(key) for key in gone]] if gone else []
    )
    if new:
        commands.append(
            ["set", table, name]
            + [f"{column}:{ovs_state.quoted(key)}={ovs_state.quoted(wanted[key])}" for key in new]
        )
    return commands


def _scalar_commands(name: str, before: Port, wanted: Port) -> list[Command]:
    commands = []
    if before["type"] != wanted["type"]:
        commands.append(["set", "Interface", name, f"type={ovs_state.quoted(wanted['type'])}"])
    if before["protected"] != wanted["protected"]:
        commands.append(["set", "Port", name, f"protected={_text(wanted['protected'])}"])
    if before["tag"] != wanted["tag"]:
        commands.append(
            ["clear", "Port", name, "tag"]
            if wanted["tag"] is None
            else ["set", "Port", name, f"tag={wanted['tag']}"]
        )
    return commands


def port_commands(
    bridge: str, name: str, before: Port | None, wanted: Port | None
) -> list[Command]:
    """Return the ovs-vsctl commands from ``before`` (None: no such port) to ``wanted`` (None:
    remove it).
    """
    if wanted is None:
        return [["del-port", bridge, name]]
    commands = []
    if before is None:
        commands.append(["add-port", bridge, name])
        before = NEW
    commands += _scalar_commands(name, before, wanted)
    commands += map_commands("Interface", name, "options", before["options"], wanted["options"])
    commands += map_commands(
        "Port", name, "other_config", before["other_config"], wanted["other_config"]
    )
    marked = [
        dict(side["external_ids"], **({OWNER: side["owner"]} if side["owner"] else {}))
        for side in (before, wanted)
    ]
    return commands + map_commands("Port", name, "external_ids", *marked)


def ours(state: State, bridge: str, owner: str) -> dict[str, Port]:
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
    seen: dict[tuple[str | None, ...] | None, str] = {}
    for name in sorted(ports):
        tunnel = _tunnel(ports[name])
        if tunnel and tunnel in seen:
            raise InputError(
                f"the port {seen[tunnel]} is the same tunnel (type, remote_ip, key, dst_port)",
                name,
                "Give one of them another remote_ip or key, or remove it.",
            )
        seen[tunnel] = name


def changes(
    state: State,
    bridge: str,
    wanted: Mapping[str, Port],
    owner: str,
    *,
    present: bool = True,
    purge: bool = False,
) -> tuple[dict[str, Port], dict[str, Port], list[Command]]:
    """Return ``(before, after, commands)``: ports by name, and the commands of the transaction
    between.

    ``wanted`` is :func:`wanted_ports`. With ``present`` false these ports are removed; a port that
    is not ours is never touched.
    """
    if present and wanted:
        ovs_state.check_bridge(state, bridge)
    ovs_state.check_ports(state, bridge, wanted, owner)
    before = ours(state, bridge, owner)
    after = {
        name: port
        for name, port in before.items()
        if name not in wanted and not (present and purge)
    }
    if present:
        after.update(wanted)
        others = {
            name: ovs_state.summary(port)
            for name, port in state["ports"].items()
            if name not in before
        }
        check_tunnels(dict(others, **after))
    commands = []
    for name in sorted(set(before) | set(after)):
        if before.get(name) != after.get(name):
            commands += port_commands(bridge, name, before.get(name), after.get(name))
    return before, after, commands


def plan(
    state: State,
    bridge: str,
    wanted: Mapping[str, Port],
    owner: str,
    *,
    present: bool = True,
    purge: bool = False,
) -> tuple[dict[str, Port], dict[str, Port], list[Step]]:
    """Return ``(before, after, steps)`` for the arguments of :func:`changes`.

    Only a removal is possible without ovs-vswitchd; a plan made before it runs is for when it does.
    """
    before, after, commands = changes(state, bridge, wanted, owner, present=present, purge=purge)
    wait = state["vswitchd"] or bool(present and wanted)
    return before, after, [ovs_state.transaction(commands, wait=wait)] if commands else []
