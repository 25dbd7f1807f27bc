# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import os
import socket

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._ovs import packet_sockets

DEVICE = ("vxlan0", 3, 0, 1, b"")


class Opened:
    """A descriptor that was opened a second time: an address family, and the device that it is
    bound to.
    """

    def __init__(self, family, name, closed):
        self.family = family
        self.name = name
        self.closed = closed

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.closed.append(self)

    def getsockname(self):
        return self.name


@pytest.fixture
def process(monkeypatch):
    """Give a process with these descriptors, {number: (family, name) or an error}; return the
    sockets closed.
    """

    def give(held):
        closed = []

        def call(number, *arguments):
            if number == packet_sockets.PIDFD_OPEN:
                return os.open("/dev/null", os.O_RDONLY)
            if isinstance(held[arguments[1]], OSError):
                raise held[arguments[1]]
            return arguments[1]

        monkeypatch.setattr(packet_sockets, "_descriptors", lambda _pid: list(held))
        monkeypatch.setattr(packet_sockets, "_call", call)
        monkeypatch.setattr(
            packet_sockets.socket, "socket", lambda fileno: Opened(*held[fileno], closed)
        )
        return closed

    return give


def test_the_packet_sockets_of_devices_are_found_and_each_is_closed_before_the_next(process):
    closed = process(
        {
            3: (socket.AF_UNIX, "/run/db.sock"),
            4: (socket.AF_PACKET, DEVICE),
            5: (socket.AF_PACKET, ("",) + DEVICE[1:]),
            6: (socket.AF_PACKET, ("tenant1",) + DEVICE[1:]),
        }
    )
    open_sockets = [
        (name, opened.family, len(closed)) for name, opened in packet_sockets.sockets_of(1)
    ]
    assert open_sockets == [("vxlan0", socket.AF_PACKET, 1), ("tenant1", socket.AF_PACKET, 3)]
    assert len(closed) == 4


def test_one_that_closes_meanwhile_is_left_out(process):
    process({3: OSError(errno.EBADF, "Bad file descriptor"), 4: (socket.AF_PACKET, DEVICE)})
    assert [name for name, _opened in packet_sockets.sockets_of(1)] == ["vxlan0"]


def test_one_whose_number_is_no_socket_by_now_is_left_out(monkeypatch):
    monkeypatch.setattr(
        packet_sockets, "_call", lambda *_arguments: os.open(os.devnull, os.O_RDONLY)
    )
    monkeypatch.setattr(packet_sockets, "_descriptors", lambda _pid: [3])
    before = len(os.listdir("/proc/self/fd"))
    assert list(packet_sockets.sockets_of(1)) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_not_allowed_is_told(monkeypatch):
    def refuse(_number, *_arguments):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(packet_sockets, "_call", refuse)
    with pytest.raises(
        LabError, match="process 7: its sockets cannot be reached .Operation not permitted."
    ):
        list(packet_sockets.sockets_of(7))


def test_a_size_that_is_not_allowed_is_told():
    class Refusing:
        def setsockopt(self, *_arguments):
            raise PermissionError(1, "Operation not permitted")

    with pytest.raises(
        LabError, match="vxlan0: its receive buffer cannot be set .Operation not permitted."
    ):
        packet_sockets.resize("vxlan0", Refusing(), 16777216)


def test_a_process_that_is_gone_is_told():
    with pytest.raises(LabError, match="cannot be reached"):
        list(packet_sockets.sockets_of(2**22 + 1))


def test_descriptors_are_those_that_are_sockets():
    with socket.socket() as mine, open(os.devnull) as other:
        descriptors = packet_sockets._descriptors(os.getpid())
        assert mine.fileno() in descriptors and other.fileno() not in descriptors


def test_a_buffer_is_as_large_as_asked():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
        if os.geteuid() == 0:
            packet_sockets.resize("mine", mine, 16777216)
            assert packet_sockets.size_of(mine) == 16777216
        else:
            assert packet_sockets.size_of(mine) > 0


def test_sizes_of_a_process_are_read_and_brought_to_what_is_wanted(process, monkeypatch):
    now = {}
    monkeypatch.setattr(packet_sockets, "size_of", lambda opened: now.get(opened.name[0], 212992))
    monkeypatch.setattr(
        packet_sockets, "resize", lambda name, _opened, size: now.update({name: size})
    )
    process({4: (socket.AF_PACKET, DEVICE), 5: (socket.AF_PACKET, ("other",) + DEVICE[1:])})
    assert packet_sockets.sizes(1) == {"vxlan0": 212992, "other": 212992}
    packet_sockets.set_sizes(1, {"vxlan0": 16777216, "gone": 8192})
    assert now == {"vxlan0": 16777216}
    monkeypatch.setattr(
        packet_sockets, "resize", lambda *_arguments: pytest.fail("it has that size")
    )
    packet_sockets.set_sizes(1, {"vxlan0": 16777216})
