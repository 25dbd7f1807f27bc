# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile of TuneD: its plug-ins net (ethtool) and sysfs. Pure.

The net plug-in looks for each name in the unindented lines of ``ethtool -k``, with short names for
those that have one. Single bits of a group, which are indented there, it passes over with a warning;
so a group is written where all its bits that change have one value.
"""

from __future__ import annotations

from itertools import chain, product

from ...module_utils._base.quoting import one_line
from ...module_utils._kinds.kinds import DEVICE_KINDS
from ...module_utils._kinds.sysfs import FOLDER, Sysfs
from .._untrusted.variables import comment
from .host_settings import (
    Export,
    HostDevice,
    HostSettings,
    head,
    not_expressed,
    short_name,
    shown,
)

USE = """\
Save it as /etc/tuned/offload-lab/tuned.conf, then run: tuned-adm profile offload-lab
TuneD's plug-in net passes over virtual devices (bridges, tunnels, veth)."""
# The moments for which a card has values of its own, and the names of ethtool -C.
SIDES = ("rx", "tx")
MOMENTS = ("", "-irq", "-low", "-high")
COALESCE = frozenset(
    [f"{side}-{what}{when}" for side, what, when in product(SIDES, ("usecs", "frames"), MOMENTS)]
    + ["adaptive-rx", "adaptive-tx", "pkt-rate-low", "pkt-rate-high"]
    + ["sample-interval", "stats-block-usecs"]
)
# The plug-in's option of a group, and the names that it knows.
OPTIONS = {
    "coalesce": ("coalesce", COALESCE),
    "rings": ("ring", frozenset(["rx", "rx-mini", "rx-jumbo", "tx"])),
    "channels": ("channels", frozenset(["rx", "tx", "other", "combined"])),
    "pause": ("pause", frozenset(["autoneg", "rx", "tx"])),
}


def _features(device: HostDevice) -> tuple[list[str], list[str]]:
    """Return the words of option features, and the rows that it cannot express."""
    words: list[str] = []
    left: list[str] = []
    for long, rows in device.groups.items():
        value = device.whole_group(long)
        if value is None:
            left += [row for row in rows if row in device.features]
        else:
            words += [short_name(long), shown(value)]
    in_groups = set(chain.from_iterable(device.groups.values()))
    for row, value in device.features.items():
        if row not in in_groups:
            words += [short_name(row), shown(value)]
    return words, left


def _sysfs(device: HostDevice, group: str) -> tuple[list[str], list[str]]:
    """Return the lines of plug-in sysfs for a kind of files, and the settings that have none."""
    kind = DEVICE_KINDS[group]
    lines = []
    left = []
    for name, value in device.others[group].items():
        if (
            not isinstance(kind, Sysfs)
            or not kind.file
            or name != kind.settings[0]
            or value == "all"
        ):
            left.append(name)
        else:
            text = "0" if value == "off" else kind.to_text(value)
            lines.append(f"{FOLDER}/{device.name}/{kind.file}={text}")
    return lines, left


def _device(device: HostDevice) -> tuple[list[str], list[str], list[str]]:
    """Return the lines of plug-in net, those of plug-in sysfs, and what neither expresses."""
    words, rows = _features(device)
    net = [f"features={' '.join(words)}"] if words else []
    left = not_expressed(device, "features", rows)
    files = []
    for group, values in device.others.items():
        if group not in OPTIONS:
            lines, names = _sysfs(device, group)
            files += lines
            left += not_expressed(device, group, names)
            continue
        option, known = OPTIONS[group]
        pairs = [f"{name} {shown(value)}" for name, value in values.items() if name in known]
        net += [f"{option}={' '.join(pairs)}"] if pairs else []
        left += not_expressed(device, group, [name for name in values if name not in known])
    return net, files, left


def tuned(settings: HostSettings) -> Export:
    """Return the profile."""
    body = []
    files = []
    left = list(settings.left)
    for device in settings.devices:
        net, written, missing = _device(device)
        files += written
        left += missing
        if net:
            body += ["", f"[net-{device.name}]", "type=net", f"devices={device.name}", *net]
    if files:
        body += ["", "[sysfs]", *files]
    campaign, host = comment(settings.campaign), comment(settings.host)
    summary = f"summary=What campaign {campaign} recommends for {host}"
    text = "".join(one_line(line) + "\n" for line in ["[main]", summary, *body])
    return Export(head(settings, "TuneD", USE, left) + text, left)
