# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables ``offload_lab_*`` of nodes against the argument specs of all roles: names, types
and ranges.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ...module_utils._base import network
from ...module_utils._engines.engines import AUTO, STREAMING
from .._campaign import survey
from .._campaign.chosen import OVERRIDES
from .._paths.lab_paths import Variables

PREFIX = "offload_lab_"
PORT = (1, 65535)
RANGES = {
    f"{PREFIX}{name}": limits
    for name, limits in {
        "vni": (0, (1 << 24) - 1),
        "vxlan_port": PORT,
        "probe_port": PORT,
        "netperf_port": (1, PORT[1] - network.DATA_OFFSET - network.MOST_STREAMS),
        "tenant_count": (0, 1 << 16),
        "index": (1, 1 << 16),
        "underlay_mtu": (68, 65535),
        "tenant_mtu": (68, 65535),
        "encapsulation": (0, 1000),
        "chunk_seconds": (1, 3600),
        "evidence_seconds": (0, 10),
        "port_buffer": (0, 1 << 31),
        "dead_man_minutes": (0, 1 << 20),
    }.items()
}
NETWORKS = (
    f"{PREFIX}tenant_network",
    f"{PREFIX}host_network",
    f"{PREFIX}flat_network",
    f"{PREFIX}bridged_network",
)
# Of variables whose choices the code knows.
CHOICES = {f"{PREFIX}engine": [*STREAMING, AUTO]}
MOST_PLACES = 3  # named in a message; the others are counted
LONGEST_VALUE = 60  # characters of a value in a message
LISTENERS = (f"{PREFIX}netperf_port", f"{PREFIX}probe_port")  # both TCP, on the same address

Option = dict[str, Any]  # as a role's argument specification has it
Spec = dict[str, Option]


class Problem(NamedTuple):
    """Something that has to be put right: where it was seen, and a sentence."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def known_variables(roles: str) -> Spec:
    """Return the options of every entry point of the roles in a folder, by name, and the answers of
    AWX's surveys, which a workflow gives to each of its jobs.
    """
    import yaml  # noqa: PLC0415

    spec: Spec = {survey.PREFIX + key: {"type": "raw"} for key in (*OVERRIDES, *survey.OTHERS)}
    for role in sorted(os.listdir(roles)):
        path = os.path.join(roles, role, "meta", "argument_specs.yml")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as stream:
                entries = yaml.safe_load(stream)["argument_specs"].values()
            for entry in entries:
                for name, option in (entry.get("options") or {}).items():
                    spec[name] = {**option, "required": False}
    for name, choices in CHOICES.items():
        spec[name] = {**spec[name], "choices": choices}
    return spec


def unknown_names(where: str, names: Iterable[str], role_names: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each name that begins with the prefix and that no role has, with the
    nearest name that a role has.
    """
    nearest = {name[len(PREFIX) :]: name for name in role_names if name.startswith(PREFIX)}
    for name in sorted(names):
        if name.startswith(PREFIX) and name not in nearest.values():
            close = difflib.get_close_matches(name[len(PREFIX) :], nearest, n=1)
            hint = f"Did you mean {nearest[close[0]]}?" if close else "Remove it."
            yield Problem(where, f"there is no variable {name}. {hint}")


def wrong_values(host: str, variables: Mapping[str, object], spec: Spec) -> Iterator[Problem]:
    """Yield a problem for each value whose type, choice or range is not what its role takes."""
    from ansible.module_utils.common.arg_spec import ArgumentSpecValidator  # noqa: PLC0415

    values = {name: variables[name] for name in variables if name in spec}
    checked = {}
    for name, value in values.items():
        result = ArgumentSpecValidator({name: spec[name]}).validate({name: value})
        if result.error_messages:
            yield Problem(host, f"{name}: {_shown(value)} cannot be used. {_wanted(spec[name])}")
        else:
            checked[name] = result.validated_parameters[name]
    yield from _out_of_range(host, checked)
    yield from _wrong_addresses(host, checked)
    yield from _same_ports(host, checked)


def _out_of_range(host: str, checked: Variables) -> Iterator[Problem]:
    for name, (least, most) in RANGES.items():
        if name in checked and not least <= checked[name] <= most:
            yield Problem(host, f"{name} is {checked[name]}. Use {least} to {most}.")


def _same_ports(host: str, checked: Mapping[str, object]) -> Iterator[Problem]:
    ports = [checked[name] for name in LISTENERS if name in checked]
    if len(ports) == len(LISTENERS) and len(set(ports)) == 1:
        yield Problem(
            host, f"{' and '.join(LISTENERS)} are both {ports[0]}. Give each a port of its own."
        )


def _shown(value: Any) -> str:
    text = repr(str(value) if isinstance(value, str) else value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "..."


def _wanted(option: Option) -> str:
    """Return what an option takes, as a sentence."""
    if option.get("choices"):
        return f"Use {' or '.join(str(choice) for choice in option['choices'])}."
    required = [
        name for name, part in (option.get("options") or {}).items() if part.get("required")
    ]
    parts = f", each with {' and '.join(required)}" if required else ""
    return f"It is of type {option.get('type', 'str')}{parts}."


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """Return each sentence once, with the places where it holds."""
    places: dict[str, dict[str, None]] = {}
    for problem in problems:
        places.setdefault(problem.what, {})[problem.where] = None
    return [Problem(_listed(list(where)), what) for what, where in places.items()]


def _listed(places: list[str]) -> str:
    more = len(places) - MOST_PLACES
    return ", ".join(places[:MOST_PLACES]) + (f" and {more} more" if more > 0 else "")


def _wrong_addresses(host: str, checked: Variables) -> Iterator[Problem]:
    for name in NETWORKS:
        try:
            ipaddress.ip_network(checked.get(name) or "192.0.2.0/24")
        except ValueError as error:
            yield Problem(host, f"{name}: {error}. Write it as 192.168.10.0/24.")
    address = checked.get(f"{PREFIX}underlay_address") or "192.0.2.1"
    try:
        ipaddress.ip_address(address)
    except ValueError:
        yield Problem(
            host,
            f"{PREFIX}underlay_address: {address!r} is not an address. Write it without prefix length, "
            "as 198.18.0.1.",
        )
