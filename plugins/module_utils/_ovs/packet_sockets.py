# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packet sockets that the process of Open vSwitch holds, one a device, and their receive buffers.

pidfd_getfd(2) opens a process's descriptor a second time here: the socket is the same, and so are
its options. It needs Linux 5.6 and the right to trace the process. Sizes are those that the kernel
reports, twice what was asked (socket(7)).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
from typing import Iterator, Mapping

from .._base.errors import LabError

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
