# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host's network configuration is: which kind it has for a device, its files and properties."""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import re
import shutil

from .._base.errors import InputError, LabError
from .._host import files
from .._host.runner import SEARCH_PATH, run
from . import managers
from .own_lines import is_confidential
from .plan import Seen

INTERFACES = ("/etc/network/interfaces", "/etc/network/interfaces.d/*")
DEFAULT_LINK = ("/usr/lib/systemd/network/99-default.link", "/lib/systemd/network/99-default.link")
ADDRESS = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}\Z", re.IGNORECASE)
NO_ADDRESS = "00:00:00:00:00:00"


def read_text(path: str) -> str | None:
    """Return the text of a file, None where there is none."""
    try:
        with open(path) as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def has_program(name: str) -> bool:
    """Return whether a program is installed."""
    return shutil.which(name, path=SEARCH_PATH) is not None


def connection_of(name: str) -> str | None:
    """Return the UUID of the connection by which NetworkManager runs a device, or None."""
    if not has_program("nmcli"):
        return None
    answer = run(
        ["nmcli", "-g", "GENERAL.NM-MANAGED,GENERAL.CON-UUID", "device", "show", name], check=False
    )
    return managers.parse_device(answer.out) if answer.rc == 0 else None


def stanza_of(name: str) -> bool:
    """Return whether ifupdown has a stanza for a device."""
    paths = itertools.chain.from_iterable(sorted(glob.glob(pattern)) for pattern in INTERFACES)
    pattern = re.compile(rf"^\s*iface\s+{re.escape(name)}\s", re.MULTILINE)
    return has_program("ifup") and any(pattern.search(read_text(path) or "") for path in paths)


def link_of(name: str) -> Seen:
    """Return what a .link file for a device has to repeat."""
    answer = run(["udevadm", "info", "--query=property", f"--path=/sys/class/net/{name}"]).out
    properties = dict(line.partition("=")[::2] for line in answer.splitlines())
    base = properties.get("ID_NET_LINK_FILE") or next(filter(os.path.exists, DEFAULT_LINK), "")
    if base == managers.link_path(name):
        base = managers.link_base(read_text(base) or "") or ""
    address = run(["ethtool", "-P", name], check=False).out.rpartition(" ")[2].strip()
    match = (
        f"PermanentMACAddress={address}"
        if ADDRESS.match(address) and address != NO_ADDRESS
        else f"OriginalName={name}"
    )
    return Seen("systemd_link", match, base, (read_text(base) or "") if base else "")


def see(name: str, method: str) -> Seen:
    """Return how a device is configured; with a ``method`` other than auto, as it can be by that
    kind.
    """
    connection = connection_of(name) if method in ("auto", "networkmanager") else None
    if connection:
        return Seen("networkmanager", connection=connection)
    if method == "networkmanager":
        raise InputError(
            "NetworkManager has no active connection for the device", name, "Use persist auto."
        )
    if method == "ifupdown" or (method == "auto" and stanza_of(name)):
        return Seen("ifupdown")
    if method == "systemd_link" or (method == "auto" and os.path.exists("/run/udev/control")):
        return link_of(name)
    return Seen("none")


def read_properties(properties: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return ``{uuid: {property: value}}``, as they are now; a connection that is gone is left out."""
    by_connection = {}
    for uuid, values in properties.items():
        names = sorted(values)
        with contextlib.suppress(LabError):
            answer = run(["nmcli", "-g", ",".join(names), "connection", "show", uuid])
            by_connection[uuid] = managers.parse_properties(answer.out, names)
    return by_connection


def write_text(path: str, text: str | None) -> None:
    """Write a file at one stroke, or remove it. A script gets the right to run, and a file that repeats
    lines of others is root's alone.
    """
    if text is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    mode = 0o755 if text[:2] == "#!" else 0o644
    files.write(path, text, 0o600 if is_confidential(path, text) else mode)
