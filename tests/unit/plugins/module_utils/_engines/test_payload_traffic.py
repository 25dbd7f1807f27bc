# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the check of the payload makes of the kernel's numbers of a connection."""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._engines import wire
from ansible_collections.offload.lab.plugins.module_utils._engines.payload import traffic
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import wait_until


@pytest.mark.parametrize(
    "again, missing, arrived, lost",
    [
        (0, 900, 900, 0),
        (7, 907, 900, 7),
        (7, 907, 907, 0),  # retransmitted, and all of it arrived: the D-SACK did not
        (9, 907, 900, 7),
        (3, 900, 120, 3),  # a card that joins segments: the receiver counts one for several
        (0, 900, 120, 0),
        (2, 900, 902, 0),
    ],
)
def test_lost_is_what_was_retransmitted_and_did_not_arrive(again, missing, arrived, lost):
    assert traffic.segments_lost(again, missing, arrived) == lost


def test_both_ends_of_a_connection_count_its_segments():
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        far_end = stack.enter_context(socket.create_connection(server.getsockname()))
        other = stack.enter_context(server.accept()[0])
        far_end.sendall(b"seen")
        assert other.recv(4) == b"seen"
        assert traffic.retransmitted_segments(far_end) == 0
        assert traffic.tcp_info(far_end)[traffic.DATA_SEGS_OUT] == 1
        assert traffic.tcp_info(other)[traffic.DATA_SEGS_IN] == 1


def kernel_says(delivered=0, again=0, duplicates=0):
    """Return what the kernel knows of a connection."""
    return {
        traffic.DELIVERED: delivered,
        traffic.TOTAL_RETRANS: again,
        traffic.DSACK_DUPS: duplicates,
    }


@pytest.mark.parametrize(
    "seconds, info, stalled",
    [
        (1.1, kernel_says(99, 6), True),  # goes on by timeouts only
        (0.9, kernel_says(99, 6), False),
        (1.1, kernel_says(100, 6), False),
        (1.1, kernel_says(99, 5), False),  # a busy CPU
        (1.1, kernel_says(99, 8, 3), False),  # the receiver had some of them already
        (4.9, kernel_says(), False),
        (5.1, kernel_says(), True),
        (5.1, kernel_says(1), False),  # a slow path without losses
    ],
)
def test_a_connection_that_goes_on_by_timeouts_only_has_stalled(
    seconds, info, stalled, monkeypatch
):
    monkeypatch.setattr(traffic, "tcp_info", lambda _connection: kernel_says())
    monkeypatch.setattr(traffic.time, "monotonic", lambda: 100.0)
    wait = traffic.Wait(None)
    monkeypatch.setattr(traffic.time, "monotonic", lambda: 100.0 + seconds)
    with pytest.raises(socket.timeout) if stalled else contextlib.nullcontext():
        wait.require_progress(info)


def test_a_second_begins_when_enough_was_delivered(monkeypatch):
    monkeypatch.setattr(traffic, "tcp_info", lambda _connection: kernel_says())
    wait = traffic.Wait(None)
    now = wait.began
    for second in range(1, 10):
        monkeypatch.setattr(traffic.time, "monotonic", lambda now=now + second: now)
        wait.require_progress(kernel_says(100 * second, 100))


def test_a_connection_that_stalls_is_reset_and_the_other_end_reports(monkeypatch):
    monkeypatch.setattr(traffic, "STALL", 0.3)
    messages = traffic.messages_of_tcp(1, 1448)
    with both_ends() as (near_end, other):
        # The other end reads nothing until the sender has given up.
        sent = traffic.send_messages(near_end.connection, messages, 5, 0)
        assert sent.messages > 0
        report = traffic.receive_messages(other.connection, other, messages)
    assert report.counts["stalled"] == 1
    assert report.counts["wrong"] == report.counts["short"] == 0


@contextlib.contextmanager
def both_ends():
    """Give both ends of a connection on which the ends of a check speak."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        near_end = stack.enter_context(socket.create_connection(server.getsockname()))
        other = stack.enter_context(server.accept()[0])
        yield traffic.Control(near_end), traffic.Control(other)


@given(st.dictionaries(st.text(), st.integers() | st.text(), max_size=4))
def test_lines_between_the_ends_have_even_lengths(values):
    with both_ends() as (near_end, other):
        near_end.say(said=values)
        line = other.stream.readline()
        assert len(line) % 2 == 0
        assert json.loads(line) == {"said": values}
        near_end.say(said=values)
        assert other.hear() == {"said": values}


def test_the_other_end_may_take_its_time_to_begin_a_line(monkeypatch):
    monkeypatch.setattr(traffic, "STALL", 0.05)
    with both_ends() as (near_end, other):
        later = threading.Timer(0.3, near_end.say, kwargs={"ready": True})
        later.start()
        assert other.hear() == {"ready": True}
        later.join()


def test_a_line_whose_end_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(traffic, "STALL", 0.05)
    with both_ends() as (near_end, other):
        # What a card made of the end of the line.
        near_end.connection.sendall(b'{"ready": true}\0')
        with pytest.raises(socket.timeout):
            other.hear()


def listens(address, port):
    """Return whether a server takes connections."""
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection((address, port)):
        return True
    return False


class NeverCuts(socket.socket):
    """A socket of UDP as kernels before 6.11 have it where the device computes no checksums."""

    def sendmsg(self, parts, how=(), *more):
        if how:
            raise OSError(errno.EIO, "Input/output error")
        return super().sendmsg(parts, how, *more)


TOKEN = "0123456789abcdef" * 2


def test_where_the_kernel_does_not_cut_datagrams_they_go_one_by_one(monkeypatch):
    monkeypatch.setenv("OFFLOAD_LAB_TOKEN", TOKEN)
    udp_socket = traffic.udp_socket

    def never_cuts(*arguments):
        return NeverCuts(fileno=udp_socket(*arguments).detach())

    monkeypatch.setattr(traffic, "udp_socket", never_cuts)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    who = wire.Guests(f"{TOKEN}\n".encode(), frozenset(["127.0.0.1"]))
    server = traffic.PayloadServer("127.0.0.1", port, who)
    threading.Thread(target=server.run, daemon=True).start()
    assert wait_until(lambda: listens("127.0.0.1", port))
    checked = traffic.check("127.0.0.1", port, 0.1, 0, None)
    assert checked["error"] is None
    for check in checked["checks"].values():
        assert check["sent"] == check["arrived"] > 0 and check["wrong"] == 0
