# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is recommended for a host, as files of other tools: TuneD, nmstate, netplan, Talos and role
network of the Linux system roles. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, product
from typing import Any, NamedTuple

import yaml

from ...module_utils._base.quoting import one_line
from ...module_utils._kinds.feature import FEATURE
from ...module_utils._kinds.kinds import DEVICE_KINDS
from ...module_utils._kinds.sysfs import FOLDER, Sysfs
from .._untrusted.texts import comment, dump_variables
from .host_settings import (
    Export,
    HostDevice,
    HostSettings,
    Options,
    Setting,
    expressed,
    head,
    kernel_name,
    not_expressed,
    short_name,
    shown,
)

Sections = dict[str, dict[str, Any]]  # {device: what the tool sets}
# The moments for which a card has values of its own, and the names of ethtool -C.
SIDES = ("rx", "tx")
MOMENTS = ("", "-irq", "-low", "-high")
COALESCE = frozenset(
    [f"{side}-{what}{when}" for side, what, when in product(SIDES, ("usecs", "frames"), MOMENTS)]
    + ["adaptive-rx", "adaptive-tx", "pkt-rate-low", "pkt-rate-high"]
    + ["sample-interval", "stats-block-usecs"]
)
RINGS = frozenset(["rx", "rx-mini", "rx-jumbo", "tx"])
TALOS_RINGS = RINGS | {
    "rx-buf-len",
    "cqe-size",
    "tx-push",
    "rx-push",
    "tx-push-buf-len",
    "tcp-data-split",
}
CHANNELS = frozenset(["rx", "tx", "other", "combined"])
PAUSE = frozenset(["autoneg", "rx", "tx"])
# A tool's key of each group, and the names that it knows.
TUNED: Options = {
    "coalesce": ("coalesce", COALESCE),
    "rings": ("ring", RINGS),
    "channels": ("channels", CHANNELS),
    "pause": ("pause", PAUSE),
}
NMSTATE: Options = {
    "coalesce": ("coalesce", COALESCE),
    "rings": ("ring", RINGS),
    "pause": ("pause", PAUSE),
}
TALOS: Options = {"rings": ("rings", TALOS_RINGS), "channels": ("channels", CHANNELS)}
LINUX_SYSTEM_ROLES: Options = {"coalesce": ("coalesce", COALESCE), "rings": ("ring", RINGS)}
NETPLAN = {
    "rx-checksumming": "receive-checksum-offload",
    "tx-tcp-segmentation": "tcp-segmentation-offload",
    "tx-tcp6-segmentation": "tcp6-segmentation-offload",
    "generic-segmentation-offload": "generic-segmentation-offload",
    "generic-receive-offload": "generic-receive-offload",
    "large-receive-offload": "large-receive-offload",
}
# Features that NetworkManager knows and role network does not.
NEWER = frozenset(
    [
        "macsec-hw-offload",
        "rx-gro-list",
        "rx-udp-gro-forwarding",
        "tls-hw-rx-offload",
        "tx-gso-list",
        "tx-tunnel-remcsum-segmentation",
    ]
)
TUNED_USE = """\
Save it as /etc/tuned/offload-lab/tuned.conf, then run: tuned-adm profile offload-lab
TuneD's plug-in net passes over virtual devices (bridges, tunnels, veth)."""
NETPLAN_USE = """\
Merge it into /etc/netplan, then run: netplan apply, and reboot, because udev sets offloads when a device appears.
It needs the renderer networkd, and netplan 0.105 or later, which knows false.
Where udev gives the device its name, match it by macaddress instead of by name."""
TALOS_USE = """\
Apply it with: talosctl patch machineconfig --nodes ADDRESS --patch @FILE
It needs Talos 1.10 or later."""
ROLE_USE = """\
Merge the key ethtool into the profile that you have for the device: the role replaces a profile as a whole."""


class Tool(NamedTuple):
    """A tool with a section for each device, in YAML."""

    name: str
    use: str
    features: str  # the key of a section
    named: Callable[[str], str]  # how it calls a feature
    knows: Callable[[str], bool]
    options: Options
    text: Callable[[Sections], str]


def _networkmanager_knows(row: str) -> bool:
    return bool(FEATURE.connection_property(row, True))


def _role_knows(row: str) -> bool:
    return row not in NEWER and _networkmanager_knows(row)


def _underscored(name: str) -> str:
    return name.replace("-", "_")


def _role_name(row: str) -> str:
    return _underscored(short_name(row))


def _section(device: HostDevice, tool: Tool) -> tuple[dict[str, dict[str, Setting]], list[str]]:
    """Return the section of a device, and what it cannot express."""
    expressible = [row for row in device.features if tool.knows(row)]
    section: dict[str, dict[str, Setting]] = {}
    if expressible:
        section[tool.features] = {tool.named(row): device.features[row] for row in expressible}
    not_here = not_expressed(
        device, "features", [row for row in device.features if row not in expressible]
    )
    others, missing_options = expressed(device, tool.options)
    return {**section, **others}, not_here + missing_options


def _export(settings: HostSettings, tool: Tool) -> Export:
    sections: Sections = {}
    not_here = list(settings.missing)
    for device in settings.devices:
        section, missing_here = _section(device, tool)
        not_here += missing_here
        if section:
            sections[device.name] = section
    return Export(head(settings, tool.name, tool.use, not_here) + tool.text(sections), not_here)


def _of_nmstate(sections: Sections) -> str:
    interfaces = [
        {"name": name, "type": "ethernet", "ethtool": section} for name, section in sections.items()
    ]
    return yaml.safe_dump({"interfaces": interfaces}, sort_keys=False)


def nmstate(settings: HostSettings) -> Export:
    """Return a state of nmstate. It names features as the kernel does, and sets them by
    NetworkManager: a feature that NetworkManager does not know cannot be set.
    """
    tool = Tool(
        "nmstate",
        "Apply it with: nmstatectl apply FILE",
        "feature",
        kernel_name,
        _networkmanager_knows,
        NMSTATE,
        _of_nmstate,
    )
    export = _export(settings, tool)
    return export._replace(text=f"---\n{export.text}")


def _of_role(sections: Sections) -> str:
    connections = []
    for name, section in sections.items():
        groups = {
            group: {_underscored(key): value for key, value in values.items()}
            for group, values in section.items()
        }
        connections.append(
            {"name": name, "interface_name": name, "type": "ethernet", "ethtool": groups}
        )
    return dump_variables({"network_connections": connections}, width=80)


def linux_system_roles(settings: HostSettings) -> Export:
    """Return variables of role network of the Linux system roles. It names features as
    NetworkManager does, with underscores.
    """
    tool = Tool(
        "linux-system-roles.network",
        ROLE_USE,
        "features",
        _role_name,
        _role_knows,
        LINUX_SYSTEM_ROLES,
        _of_role,
    )
    export = _export(settings, tool)
    return export._replace(text=f"---\n{export.text}")


def _of_talos(sections: Sections) -> str:
    kind = {"apiVersion": "v1alpha1", "kind": "EthernetConfig"}
    documents = [{**kind, "name": name, **section} for name, section in sections.items()]
    texts = [yaml.safe_dump(document, sort_keys=False) for document in documents]
    return "---\n" + "---\n".join(texts)


def talos(settings: HostSettings) -> Export:
    """Return a machine patch of Talos Linux: a document EthernetConfig for each device."""
    tool = Tool("Talos", TALOS_USE, "features", kernel_name, bool, TALOS, _of_talos)
    return _export(settings, tool)


def _netplan_keys(device: HostDevice) -> tuple[dict[str, bool], list[str]]:
    """Return the keys of a device, and what they cannot express."""
    keys = {key: device.features[row] for row, key in NETPLAN.items() if row in device.features}
    expressible = set(NETPLAN)
    checksums = device.whole_group("tx-checksumming")
    if checksums is not None:
        keys["transmit-checksum-offload"] = checksums
        expressible.update(device.groups["tx-checksumming"])
    missing = not_expressed(
        device, "features", [row for row in device.features if row not in expressible]
    )
    for group, values in device.others.items():
        missing += not_expressed(device, group, values)
    return keys, missing


def netplan(settings: HostSettings) -> Export:
    """Return a configuration of netplan: the seven offloads that it has keys for."""
    ethernets: dict[str, Any] = {}
    not_here = list(settings.missing)
    for device in settings.devices:
        keys, missing_here = _netplan_keys(device)
        not_here += missing_here
        if keys:
            ethernets[device.name] = {"match": {"name": device.name}, **keys}
    network = {"network": {"version": 2, "ethernets": ethernets}}
    text = yaml.safe_dump(network, sort_keys=False)
    return Export(head(settings, "netplan", NETPLAN_USE, not_here) + text, not_here)


def _tuned_features(device: HostDevice) -> tuple[list[str], list[str]]:
    """Return the words of option features, and the rows that it cannot express.

    The net plug-in looks for each name in the unindented lines of ``ethtool -k``, with short names for
    those that have one. Single bits of a group, which are indented there, it passes over with a
    warning; so a group is written where all its bits that change have one value.
    """
    values: list[str] = []
    missing: list[str] = []
    for long, rows in device.groups.items():
        value = device.whole_group(long)
        if value is None:
            missing += [row for row in rows if row in device.features]
        else:
            values += [short_name(long), shown(value)]
    in_groups = set(chain.from_iterable(device.groups.values()))
    for row, value in device.features.items():
        if row not in in_groups:
            values += [short_name(row), shown(value)]
    return values, missing


def _sysfs(device: HostDevice, group: str) -> tuple[list[str], list[str]]:
    """Return the lines of plug-in sysfs for a kind of files, and the settings that have none."""
    kind = DEVICE_KINDS[group]
    lines = []
    missing = []
    for name, value in device.others[group].items():
        if (
            not isinstance(kind, Sysfs)
            or not kind.file
            or name != kind.settings[0]
            or value == "all"
        ):
            missing.append(name)
        else:
            text = "0" if value == "off" else kind.to_text(value)
            lines.append(f"{FOLDER}/{device.name}/{kind.file}={text}")
    return lines, missing


def _tuned_device(device: HostDevice) -> tuple[list[str], list[str], list[str]]:
    """Return the lines for plug-in net, the lines for plug-in sysfs, and the settings that neither
    expresses.
    """
    features, rows = _tuned_features(device)
    net = [f"features={' '.join(features)}"] if features else []
    missing = not_expressed(device, "features", rows)
    files = []
    for group, values in device.others.items():
        if group not in TUNED:
            lines, names = _sysfs(device, group)
            files += lines
            missing += not_expressed(device, group, names)
            continue
        option, option_names = TUNED[group]
        pairs = [f"{name} {shown(value)}" for name, value in values.items() if name in option_names]
        net += [f"{option}={' '.join(pairs)}"] if pairs else []
        missing += not_expressed(
            device, group, [name for name in values if name not in option_names]
        )
    return net, files, missing


def tuned(settings: HostSettings) -> Export:
    """Return a profile of TuneD: its plug-ins net (ethtool) and sysfs."""
    body = []
    files = []
    not_here = list(settings.missing)
    for device in settings.devices:
        net, written, missing_here = _tuned_device(device)
        files += written
        not_here += missing_here
        if net:
            body += ["", f"[net-{device.name}]", "type=net", f"devices={device.name}", *net]
    if files:
        body += ["", "[sysfs]", *files]
    campaign, host = comment(settings.campaign), comment(settings.host)
    summary = f"summary=What campaign {campaign} recommends for {host}"
    text = "".join(one_line(line) + "\n" for line in ["[main]", summary, *body])
    return Export(head(settings, "TuneD", TUNED_USE, not_here) + text, not_here)


FORMATS: dict[str, tuple[str, Callable[[HostSettings], Export]]] = {
    "tuned": ("tuned.conf", tuned),
    "nmstate": ("nmstate.yml", nmstate),
    "netplan": ("netplan.yaml", netplan),
    "talos": ("talos.yaml", talos),
    "linux_system_roles": ("network_connections.yml", linux_system_roles),
}
