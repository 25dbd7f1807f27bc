# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module ethtool tells people: warnings and the texts of diff mode. Pure."""
from __future__ import annotations


def printed(value):
    """Return a value as ethtool prints it; a feature with what is requested of it."""
    if isinstance(value, dict):
        requested = value.get("requested")
        return printed(value["active"]) + ("" if requested is None else " [requested {0}]".format(printed(requested)))
    return {True: "on", False: "off", None: "n/a"}[value] if value is None or isinstance(value, bool) else str(value)


def lines(devices, moment):
    """Return the text of diff mode, for ``moment`` before or after: what differs, a line for each value."""
    rows = []
    for key, device in devices.items():
        for kind, values in device[moment].items():
            rows.extend("{0} {1} {2}: {3}".format(key, kind, name, printed(value)) for name, value in values.items()
                        if device["before"][kind].get(name) != device["after"][kind].get(name))
    return "".join(row + "\n" for row in rows)


def warnings(devices):
    """Return one warning for each device on which something is not as asked."""
    texts = []
    for key, device in devices.items():
        missed = ["{0} (asked {1}, is {2})".format(name, printed(values["asked"]), printed(
            {"active": values["active"], "requested": values.get("requested")}))
            for kind in device["not_honoured"].values() for name, values in kind.items()]
        reasons = sorted({step["reason"] for step in device["failed_steps"]})
        if missed:
            texts.append("{0}: not honoured: {1}{2}".format(
                key, ", ".join(missed), " ({0})".format("; ".join(reasons)) if reasons else ""))
    return texts
