# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Send without copying (MSG_ZEROCOPY), and count what the kernel reports of each call.

A node runs this file as a part of the script of :mod:`.traffic`. The kernel numbers the calls of a
socket. Its error queue says which calls have completed, and whether their data was copied after all,
as on the loopback device. See Documentation/networking/msg_zerocopy.rst of the kernel.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
import time

SO_ZEROCOPY = 60  # asm-generic/socket.h
MSG_ZEROCOPY = 0x4000000  # linux/socket.h
MSG_ERRQUEUE = 0x2000
# (level, type) of an error that the queue reports: IP_RECVERR and IPV6_RECVERR
RECVERR = ((socket.IPPROTO_IP, 11), (socket.IPPROTO_IPV6, 25))
# struct sock_extended_err of linux/errqueue.h
EXTENDED_ERROR = struct.Struct("=IBBBBII")
ORIGIN_ZEROCOPY = 5
CODE_COPIED = 1
CONTROL = 512  # bytes; an error and the address that follows it
EACH = 64  # calls after which the queue is read
FULL_WAIT = 1.0  # s for a completion where the kernel takes no more calls
LAST_WAIT = 5.0  # s for the last completions


class ZeroCopySender:
    """Sends on one socket, as ``socket.send`` does."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        self.sock = sock
        self.errors = select.poll()
        self.errors.register(sock, 0)  # POLLERR is always reported
        self.calls = self.completed = self.copied = 0

    def send(self, data: bytes) -> int:
        """Send without copying. Where the limit of pinned memory or of completions is reached, wait
        for completions.
        """
        while True:
            try:
                sent = self.sock.send(data, MSG_ZEROCOPY)
                break
            except OSError as error:
                if error.errno != errno.ENOBUFS or not self._wait(FULL_WAIT):
                    raise
        self.calls += 1
        if self.calls % EACH == 0:
            self._read()
        return sent

    def finish(self) -> dict[str, int]:
        """Wait for the completions that are still missing, and return the counts."""
        until = time.monotonic() + LAST_WAIT
        while self.completed < self.calls and self._wait(until - time.monotonic()):
            pass
        return {"calls": self.calls, "completed": self.completed, "copied": self.copied}

    def _wait(self, seconds: float) -> bool:
        """Wait for completions; return whether there were any."""
        before = self.completed
        if seconds > 0 and self.errors.poll(seconds * 1000):
            self._read()
        return self.completed > before

    def _read(self) -> None:
        """Read all completions that the queue has now."""
        while True:
            try:
                control = self.sock.recvmsg(1, CONTROL, MSG_ERRQUEUE | socket.MSG_DONTWAIT)[1]
            except BlockingIOError:
                return
            for level, kind, value in control:
                if (level, kind) in RECVERR:
                    self._count(value)

    def _count(self, value: bytes) -> None:
        """Count one completion, of the calls from ``first`` to ``last``."""
        fields = EXTENDED_ERROR.unpack_from(value)
        _number, origin, _type, code, _pad, first, last = fields
        if origin != ORIGIN_ZEROCOPY:
            return
        count = (last - first) % (1 << 32) + 1
        self.completed += count
        self.copied += count * (code == CODE_COPIED)
