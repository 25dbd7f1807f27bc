# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import json
import socket
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._engines import wire
from ansible_collections.offload.lab.plugins.module_utils._observe import probe as observe_probe


@contextlib.contextmanager
def running(bound):
    """Run a probe in a thread of this process."""
    ended = threading.Event()

    def serve():
        while not ended.is_set():
            bound.step()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        bound.shut()


@pytest.fixture
def server():
    bound = observe_probe.listen("127.0.0.1", 0, "secret")
    with running(bound):
        yield bound


def ask(server, token="secret"):
    return observe_probe.Probe(*server.listener.getsockname(), token=token)


def cpus(stat):
    return [line.split()[0] for line in stat.splitlines() if line.startswith("cpu")]


def test_snapshot_has_all_cpus_and_names_the_kernel(server):
    probe = ask(server)
    there = probe.ask("snapshot")
    snapshot_now = observe_probe.snapshot()
    probe.close()
    assert there["boot_id"] == snapshot_now["boot_id"] != ""
    assert cpus(there["stat"]) == cpus(snapshot_now["stat"]) != []
    assert "NET_RX:" in there["softirqs"].split()


def test_one_machine_has_one_clock(server):
    probe = ask(server)
    offset, error = probe.clock()
    probe.close()
    assert abs(offset) <= error + 0.001


def test_a_wrong_token_gets_no_answer(server):
    probe = ask(server, "wrong")
    with pytest.raises((LabError, OSError)):
        probe.ask("clock")
    probe.close()


def heard(server, line):
    """Return what the probe says to a line, behind its nonce."""
    with socket.create_connection(server.listener.getsockname()) as connection:
        connection.settimeout(30)
        stream = connection.makefile("rb")
        assert set(json.loads(stream.readline())) == {"nonce"}
        connection.sendall(line)
        try:
            return stream.read()
        except ConnectionResetError:
            return b""


LINES = st.one_of(
    st.binary(max_size=300),
    st.builds(
        lambda proof, request: json.dumps({"proof": proof, "request": request}).encode() + b"\n",
        st.text(max_size=64) | st.integers() | st.none(),
        st.just('{"op": "give_up"}') | st.text(max_size=20) | st.lists(st.none()),
    ),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=LINES)
def test_whatever_has_no_proof_gets_no_answer(server, line):
    assert heard(server, line + b"x" * observe_probe.HELLO_BYTES) == b""


def test_the_token_is_not_sent_and_no_request_can_be_used_again(monkeypatch):
    """Who has heard all of a connection repeats it: on another one, and on the same."""
    done = []
    monkeypatch.setattr(observe_probe, "answer", lambda request: done.append(request["op"]) or {})
    nonce = "a" * 32
    ours = observe_probe.Seal("secret", nonce)
    lines = [ours.close(observe_probe.HELLO), ours.close({"op": "give_up"})]
    assert not any(b"secret" in line for line in lines)
    for other in (observe_probe.Seal("secret", "b" * 32), observe_probe.Seal("other", nonce)):
        for line in lines:
            with pytest.raises(ValueError):
                other.open(line)
    theirs = observe_probe.Seal("secret", nonce)
    assert theirs.open(lines[0]) == observe_probe.HELLO
    with pytest.raises(ValueError):
        theirs.open(lines[0])
    assert theirs.open(lines[1]) == {"op": "give_up"}
    for line in lines:
        with pytest.raises(ValueError):
            theirs.open(line)


def test_a_changed_request_has_no_proof():
    ours = observe_probe.Seal("secret", "a")
    line = ours.close({"op": "clock"})
    with pytest.raises(ValueError):
        observe_probe.Seal("secret", "a").open(line.replace(b"clock", b"give_up"))


def test_strangers_that_wait_do_not_keep_a_client_out(server):
    """More connections than the probe has threads or descriptors for."""
    before = threading.active_count()
    with contextlib.ExitStack() as stack:
        for _number in range(3 * observe_probe.MOST_CALLERS):
            stack.enter_context(socket.create_connection(server.listener.getsockname()))
        probe = ask(server)
        assert probe.ask("clock")["time"] > 0
        assert threading.active_count() <= before + 1
        assert len(server.callers) <= observe_probe.MOST_CALLERS
        probe.close()


def test_a_connection_that_is_gone_before_it_is_served_costs_no_pause(server, monkeypatch):
    """Each pause is a time in which nobody is let in: a flood of resets would fill the queue."""
    pauses = []
    monkeypatch.setattr(wire.time, "sleep", pauses.append)
    monkeypatch.setattr(wire.Door, "attend", lambda *_given: 1 / 0)
    with socket.create_connection(server.listener.getsockname()) as connection:
        connection.settimeout(30)
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(100):
                pass
    assert pauses == []


def test_peers_alone_may_connect():
    bound = observe_probe.listen("127.0.0.1", 0, "secret", frozenset(["192.0.2.1"]))
    with running(bound), pytest.raises((LabError, OSError)):
        ask(bound)


@pytest.mark.parametrize(
    "request_", [{"op": "nonsense"}, {"op": "sample"}, {"op": "sample", "devices": 5, "seconds": 0}]
)
def test_a_wrong_request_is_an_error_and_the_probe_lives_on(server, request_):
    probe = ask(server)
    with pytest.raises(LabError):
        probe.ask(**request_)
    assert probe.ask("clock")["time"] > 0
    probe.close()


def test_nobody_there():
    with pytest.raises(LabError, match="does not answer"):
        observe_probe.Probe("127.0.0.1", 1, "secret", timeout=1)
