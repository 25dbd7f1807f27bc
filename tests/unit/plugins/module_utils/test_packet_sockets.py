# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.offload.lab.plugins.module_utils import _packet_sockets
from ansible_collections.offload.lab.plugins.module_utils._errors import LabError

DEVICE = ("vxlan0", 3, 0, 1, b"")


class Opened:
    """A descriptor that was opened a second time: an address family, and the device that it is bound to."""

    def __init__(self, family, name, closed):
        self.family, self.name, self.closed = family, name, closed

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.closed.append(self)

    def getsockname(self):
        return self.name


@pytest.fixture
def process(monkeypatch):
    """Give a process with these descriptors, {number: (family, name)}; return the sockets that were closed."""
    def give(held):
        closed = []
        monkeypatch.setattr(_packet_sockets, "_descriptors", lambda _pid: list(held))
        monkeypatch.setattr(_packet_sockets, "_call", lambda number, *arguments: (
            os.open("/dev/null", os.O_RDONLY) if number == _packet_sockets.PIDFD_OPEN else arguments[1]))
        monkeypatch.setattr(_packet_sockets.socket, "socket", lambda fileno: Opened(*held[fileno], closed))
        return closed
    return give


def test_the_packet_sockets_of_devices_are_found_and_all_are_closed(process):
    closed = process({3: (socket.AF_UNIX, "/run/db.sock"), 4: (socket.AF_PACKET, DEVICE),
                      5: (socket.AF_PACKET, ("",) + DEVICE[1:])})
    with _packet_sockets.sockets_of(1) as found:
        assert [(name, opened.family) for name, opened in found] == [("vxlan0", socket.AF_PACKET)]
        assert closed == []
    assert len(closed) == 3


def test_what_is_not_allowed_is_told(monkeypatch):
    def refuse(_number, *_arguments):
        raise PermissionError(1, "Operation not permitted")
    monkeypatch.setattr(_packet_sockets, "_call", refuse)
    said = "process 7: its sockets cannot be reached .Operation not permitted."
    with pytest.raises(LabError, match=said), _packet_sockets.sockets_of(7):
        pass


def test_a_process_that_is_gone_is_told():
    with pytest.raises(LabError, match="cannot be reached"), _packet_sockets.sockets_of(2 ** 22 + 1):
        pass


def test_descriptors_are_those_that_are_sockets():
    with socket.socket() as mine, open(os.devnull) as other:
        found = _packet_sockets._descriptors(os.getpid())
        assert mine.fileno() in found and other.fileno() not in found


def test_a_buffer_is_as_large_as_asked():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
        if os.geteuid() == 0:
            _packet_sockets.resize(mine, 16777216)
            assert _packet_sockets.size_of(mine) == 16777216
        else:
            assert _packet_sockets.size_of(mine) > 0


def test_sizes_of_a_process_are_read_and_brought_to_what_is_wanted(process, monkeypatch):
    now = {}
    monkeypatch.setattr(_packet_sockets, "size_of", lambda opened: now.get(opened.name[0], 212992))
    monkeypatch.setattr(_packet_sockets, "resize", lambda opened, size: now.update({opened.name[0]: size}))
    process({4: (socket.AF_PACKET, DEVICE), 5: (socket.AF_PACKET, ("other",) + DEVICE[1:])})
    assert _packet_sockets.sizes(1) == {"vxlan0": 212992, "other": 212992}
    _packet_sockets.set_sizes(1, {"vxlan0": 16777216, "gone": 8192})
    assert now == {"vxlan0": 16777216}
    monkeypatch.setattr(_packet_sockets, "resize", lambda *_arguments: pytest.fail("it has that size"))
    _packet_sockets.set_sizes(1, {"vxlan0": 16777216})
