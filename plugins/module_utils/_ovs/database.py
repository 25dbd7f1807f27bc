# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading Open vSwitch's database, which of its daemons run on this host, which datapath its kernel
allows, and the packet sockets that its process holds, one a device, with their receive buffers.

pidfd_getfd(2) opens a process's descriptor a second time here: the socket is the same, and so are
its options. It needs Linux 5.6 and the right to trace the process. Sizes are those that the kernel
reports, twice what was asked (socket(7)).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import socket
from typing import Iterator, Mapping

from .._base.errors import CommandError, InputError, LabError
from .._host.runner import run
from .ovs_state import TABLES, OvsState, empty, state_of
from .switch_plan import OVS_CTL, SwitchSeen
from .tables import parse_query, parse_tables

# the same on all architectures but Alpha
PIDFD_OPEN = 434
PIDFD_GETFD = 438
SO_RCVBUFFORCE = 33  # asm-generic/socket.h


def _call(number: int, *arguments: int) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    result = library.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _descriptors(pid: int) -> list[int]:
    """Return the numbers of a process's descriptors that are sockets."""
    folder = f"/proc/{pid}/fd"
    numbers = []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):  # closed meanwhile
            if os.readlink(os.path.join(folder, name)).startswith("socket:"):
                numbers.append(int(name))
    return numbers


def _again(process: int, number: int) -> socket.socket | None:
    """Return a socket of a process, opened a second time; None where its number is closed by now,
    or is no socket.
    """
    try:
        copy = _call(PIDFD_GETFD, process, number, 0)
    except OSError as error:
        if error.errno == errno.EBADF:
            return None
        raise
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        return None


def sockets_of(pid: int) -> Iterator[tuple[str, socket.socket]]:
    """Yield ``(device, socket)`` of the packet sockets of a process that are bound to a device.

    Each is closed before the next: a switch may have more ports than this process may have files.
    """
    with contextlib.ExitStack() as stack:
        try:
            process = _call(PIDFD_OPEN, pid, 0)
            stack.callback(os.close, process)
            for number in _descriptors(pid):
                opened = _again(process, number)
                if opened is None:
                    continue
                with opened:
                    if opened.family == socket.AF_PACKET and opened.getsockname()[0]:
                        yield opened.getsockname()[0], opened
        except OSError as error:
            raise LabError(
                f"its sockets cannot be reached ({error.strerror})",
                f"process {pid}",
                "Set offload_lab_port_buffer to 0 in such a container.",
            )


def size_of(opened: socket.socket) -> int:
    """Return the size in bytes of a socket's receive buffer."""
    return opened.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def resize(name: str, opened: socket.socket, size: int) -> None:
    """Set the size in bytes of a socket's receive buffer, also beyond net.core.rmem_max."""
    try:
        opened.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, size // 2)
    except OSError as error:  # in a container with a user namespace of its own root may not
        raise LabError(
            f"its receive buffer cannot be set ({error.strerror})",
            name,
            "Set offload_lab_port_buffer to 0 in such a container.",
        )


def sizes(pid: int) -> dict[str, int]:
    """Return ``{device: size in bytes}`` of the receive buffers of a process."""
    return {name: size_of(opened) for name, opened in sockets_of(pid)}


def set_sizes(pid: int, sizes: Mapping[str, int]) -> None:
    """Bring receive buffers of a process to ``{device: size in bytes}``; a device without a socket
    stays unchanged.
    """
    for name, opened in sockets_of(pid):
        if size_of(opened) != sizes.get(name, size_of(opened)):
            resize(name, opened, sizes[name])


RUN = "/run/openvswitch"
DATABASE = "/etc/openvswitch/conf.db"
READ = ["ovs-vsctl", "--timeout=10", "--format=json"] + " -- ".join(
    "list " + table for table in TABLES
).split()


def runs(daemon: str) -> bool:
    """Return whether a daemon runs: then it holds the lock of its pid file."""
    try:
        with open(os.path.join(RUN, daemon + ".pid")) as stream:
            fcntl.lockf(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def pid(daemon: str) -> int:
    """Return the process number of a daemon that runs."""
    with open(os.path.join(RUN, daemon + ".pid")) as stream:
        return int(stream.read())


def port_buffers() -> dict[str, int]:
    """Return ``{device: receive buffer in bytes}`` of the userspace datapath; empty where that is
    not known.
    """
    if not runs("ovs-vswitchd"):
        return {}
    try:
        return sizes(pid("ovs-vswitchd"))
    except (LabError, OSError, ValueError):
        return {}


def read(missing_ok: bool = False) -> OvsState:
    """Return the state of the database.

    With ``missing_ok`` a host without Open vSwitch has an empty one.
    """
    try:
        return state_of(parse_tables(run(READ).out), vswitchd=runs("ovs-vswitchd"))
    except CommandError as error:
        if missing_ok:
            return empty()
        raise CommandError(
            f"Open vSwitch does not answer ({(error.err or error.what).strip()})",
            READ[:1],
            error.rc,
            error.err,
            "Install and start it: role offload.lab.switch.",
        )


def read_file() -> OvsState:
    """Return the state of the database while ovsdb-server does not run."""
    if not os.path.exists(DATABASE):
        return empty()
    selects = [{"op": "select", "table": table, "where": []} for table in TABLES]
    query = json.dumps(["Open_vSwitch"] + selects)
    return state_of(
        parse_query(run(["ovsdb-tool", "query", DATABASE, query]).out),
        running=False,
        vswitchd=False,
    )


UNITS = ("openvswitch-switch", "openvswitch")  # Debian's package, and Red Hat's
UNIT_DIRECTORIES = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


def switch_seen() -> SwitchSeen:
    """Return what there is of Open vSwitch."""
    db = runs("ovsdb-server")
    return {
        "db": db,
        "vswitchd": runs("ovs-vswitchd"),
        "ovs": read() if db else read_file(),
    }


def kernel_datapath() -> bool:
    """Return whether the kernel has the openvswitch module, or can load it."""
    if os.path.isdir("/sys/module/openvswitch"):
        return True
    try:
        return run(["modprobe", "--dry-run", "--quiet", "openvswitch"], check=False).rc == 0
    except CommandError:
        return False


def unit_of(manager: str) -> str | None:
    """Return the systemd unit of Open vSwitch, or None where ovs-ctl starts it.

    ``manager`` may be auto.
    """
    units = [unit for unit in UNITS if _has_unit(unit)]
    by_systemd = bool(units) and os.path.isdir("/run/systemd/system")
    if manager == "ovs-ctl" or (manager == "auto" and not by_systemd):
        return None
    return units[0] if units else UNITS[0]


def _has_unit(unit: str) -> bool:
    paths = [os.path.join(directory, unit + ".service") for directory in UNIT_DIRECTORIES]
    return any(map(os.path.exists, paths))


def check_installed() -> None:
    """Raise InputError when Open vSwitch is not installed."""
    if not os.path.exists(OVS_CTL):
        raise InputError(
            "Open vSwitch is not installed",
            OVS_CTL,
            "Install its package, or let the role switch do it: offload_lab_install_packages: true.",
        )
