# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers run as nobody, with limits; netserver and iperf3 stand behind a door that lets in only the
peers, and of these only who has the token.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._engines import door, workload
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import BY_NAME
from ansible_collections.offload.lab.plugins.module_utils._host import netns
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import wait_until
from ansible_collections.offload.lab.plugins.module_utils._load import run, servers

SERVER, PEER = "ol-srv-s", "ol-srv-p"
ADDRESS, CLIENT, STRANGER = "198.18.93.2", "198.18.93.1", "198.18.93.9"
NETWORK = f"""
netns add {SERVER}
netns add {PEER}
-n {PEER} link add lab0 type veth peer name lab0 netns {SERVER}
-n {SERVER} address add {ADDRESS}/24 dev lab0
-n {PEER} address add {CLIENT}/24 dev lab0
-n {PEER} address add {STRANGER}/24 dev lab0
-n {SERVER} link set lab0 up
-n {SERVER} link set lo up
-n {PEER} link set lab0 up
"""
ACCESS = servers.Access("0123456789abcdef" * 2, [CLIENT])
PORT = 12865
NOTHING = f"{0:016x}"
ENGINES = ("netperf", "iperf3", "sockets", "payload")
MANY = 300  # silent connections
MOST_MEMORY = 64 << 20  # bytes, of a door
PROGRAMS = {"netperf": "netserver", "iperf3": "iperf3"}


@pytest.fixture(name="network", scope="module")
def _network(root_required):
    try:
        for line in NETWORK.strip().splitlines():
            subprocess.run(["ip", *line.split()], check=True)
        yield
    finally:
        for name in (SERVER, PEER):
            subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.fixture(name="started")
def _started(network, tmp_path, monkeypatch):
    """Return a function that starts the server of an engine and returns its port and its process."""
    monkeypatch.setattr(servers.daemons, "FOLDER", str(tmp_path / "run"))

    def start(engine, count=1):
        port = PORT + BY_NAME[engine].port_offset
        server = {"netns": SERVER, "address": ADDRESS, "port": port, "engine": engine}
        servers.start_all([{**server, "count": count} if count > 1 else server], ACCESS)
        [state] = servers.known().values()
        return port, state["pid"]

    yield start
    servers.stop_all(list(servers.known()))
    assert subprocess.check_output(["ip", "netns", "pids", SERVER]) == b""


def status(pid):
    """Return ``{name: words}`` of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: text.split() for name, _colon, text in (line.partition(":") for line in lines)}


def limits(pid):
    """Return the hard limits of a process by name."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]
    return {row[0]: row[2] for row in (re.split(r"  +", line.strip()) for line in lines)}


def require_unprivileged(pid):
    status_lines = status(pid)
    assert (
        status_lines["Uid"] == status_lines["Gid"] == [servers.NOBODY] * 4
        and status_lines["Groups"] == []
    )
    assert status_lines["NoNewPrivs"] == ["1"]
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert status_lines[name] == [NOTHING], name
    bounds = limits(pid)
    assert bounds["Max core file size"] == "0"
    assert bounds["Max open files"] == bounds["Max processes"] == "4096"
    assert bounds["Max address space"] == str(4 << 30)
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.stat(f"/proc/{pid}/ns/net").st_ino == netns.inode(netns.path_of(SERVER))
    for name in ("cmdline", "environ"):
        assert ACCESS.token.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()


def children(pid):
    return [int(name) for name in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def connect(port, source=CLIENT):
    with netns.inside(PEER):
        return socket.create_connection((ADDRESS, port), timeout=20, source_address=(source, 0))


@contextlib.contextmanager
def admitted(port):
    """Be an admitted client."""
    with connect(port) as connection:
        connection.sendall(f"{ACCESS.token}\n".encode())
        assert connection.recv(4096).startswith(door.OPEN.encode())
        yield connection
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""  # the door is ready for the next


def is_closed(connection):
    """Return whether the other end closes a connection without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_has_no_privileges_and_no_secret_in_sight(started, engine):
    _port, pid = started(engine)
    require_unprivileged(pid)
    assert os.getsid(pid) == pid


@pytest.mark.parametrize("engine", PROGRAMS)
def test_what_a_door_starts_has_none_either_and_ends_with_its_client(started, engine):
    port, pid = started(engine)
    assert children(pid) == []
    with admitted(port), connect(port) as control:
        control.sendall(b"\0")  # the beginning of a request of netperf
        assert wait_until(lambda: children(pid))
        [child] = children(pid)
        name = Path(f"/proc/{child}/comm")
        assert wait_until(lambda: name.read_text().strip() == PROGRAMS[engine])
        require_unprivileged(child)
    assert wait_until(lambda: not children(pid), patience=door.GRACE + 20)


def test_a_program_ends_though_its_own_connection_stays(started):
    """A client that was admitted leaves; its netserver would wait for the next request for ever."""
    port, pid = started("netperf")
    with contextlib.ExitStack() as stack:
        with admitted(port):
            control = stack.enter_context(connect(port))
            control.sendall(b"\0")
            assert wait_until(lambda: children(pid))
        assert wait_until(lambda: not children(pid), patience=door.GRACE + 20)
        assert is_closed(control)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_address_that_is_no_peer_is_closed_with_the_token_too(started, engine):
    port, pid = started(engine)
    with connect(port, STRANGER) as stranger:
        with contextlib.suppress(OSError):
            stranger.sendall(f"{ACCESS.token}\n".encode())
        assert is_closed(stranger)
    assert children(pid) == []


@pytest.mark.parametrize("engine", PROGRAMS)
@pytest.mark.parametrize(
    "said",
    [
        b"f" * 32 + b"\n",
        ACCESS.token[:-1].encode() + b"\n",
        b"0" * 5000,
        b"\0" * 656,  # a request of netperf
        b"\0\0\0\6" + b"\0" * 4 + ACCESS.token.encode() + b"\0" * 616,  # netperf -Z
        b"GET / HTTP/1.1\r\n\r\n",
        b"\n",
    ],
)
def test_a_peer_without_the_token_starts_nothing(started, engine, said):
    port, pid = started(engine)
    with connect(port) as other:
        other.sendall(said)
        assert is_closed(other)
    assert children(pid) == []


@pytest.mark.parametrize("engine", PROGRAMS)
def test_silent_connections_keep_nobody_out_and_take_little(started, engine):
    port, pid = started(engine)
    with contextlib.ExitStack() as stack:
        for _number in range(MANY):
            stack.enter_context(connect(port))
        end = {"netns": PEER, "local": CLIENT, "address": ADDRESS, "port": PORT}
        if shutil.which(BY_NAME[engine].program):
            load = workload.checked({"test": "TCP_STREAM", "engine": engine, "duration": 1})
            cell = run.run_cell(load, [workload.endpoint(end)], token=ACCESS.token)
            assert cell["error"] is None
        assert int(status(pid)["VmRSS"][0]) * 1024 < MOST_MEMORY
    with admitted(port):
        pass


def test_the_door_listens_again_when_iperf3_has_ended(started):
    port, pid = started("iperf3", count=2)
    for _cell in range(3):
        with admitted(port), admitted(port + 1):
            assert len(children(pid)) == 2
            with connect(port) as second:  # the token is not for iperf3, which closes it
                second.sendall(f"{ACCESS.token}\n".encode())
        with connect(port + 1) as waiting:
            waiting.sendall(b"\0")
            assert is_closed(waiting)


def test_the_record_of_a_trial_has_no_token(started):
    started("netperf")
    end = {"netns": PEER, "local": CLIENT, "address": ADDRESS, "port": PORT}
    load = workload.checked({"test": "TCP_RR", "duration": 1})
    for token in (ACCESS.token, "f" * 32):
        cell = run.run_cell(load, [workload.endpoint(end)], token=token)
        assert token not in json.dumps(cell)
    assert "refuses this client" in cell["error"]


@pytest.mark.parametrize("engine", PROGRAMS)
def test_an_algorithm_that_the_server_may_not_set_is_refused(started, engine):
    """netserver would go on with another one, and its numbers would be of that."""
    started(engine)
    allowed = Path(door.ALLOWED).read_text().split()
    end = {"netns": PEER, "local": CLIENT, "address": ADDRESS, "port": PORT}
    load = {"test": "TCP_MAERTS", "engine": engine, "duration": 1}
    errors = {}
    for name in (allowed[0], "vegas"):
        options = workload.checked({**load, "congestion_control": name})
        errors[name] = run.run_cell(options, [workload.endpoint(end)], token=ACCESS.token)["error"]
    assert "vegas" not in allowed and errors[allowed[0]] is None
    assert "may not use the TCP algorithm vegas" in errors["vegas"]
    assert f"tcp_allowed_congestion_control='{' '.join(allowed)} vegas'" in errors["vegas"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        json.dumps({"token": ACCESS.token}),
        json.dumps({"token": ACCESS.token, "peers": []}),
        json.dumps({"token": ACCESS.token, "peers": ["node1"]}),
        json.dumps({"token": "short", "peers": [CLIENT]}),
        json.dumps({"token": "GET " + ACCESS.token, "peers": [CLIENT]}),
    ],
)
def test_a_door_that_knows_nobody_does_not_open(text, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    with pytest.raises(SystemExit) as ended:
        door.guests(text)
    assert ended.value.code == 2
    assert "does not say who may connect" in capsys.readouterr().err


def test_a_program_that_nobody_may_run_is_named(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o700)
    program = folder / "netserver"
    program.write_text("")
    program.chmod(0o755)
    where = {"PATH": str(folder)}
    with pytest.raises(InputError, match="user nobody may not run"):
        servers.require_program("netserver", where)
    with pytest.raises(InputError, match="no such program on the node"):
        servers.require_program("netserver", {"PATH": str(tmp_path)})


def test_where_systemd_runs_a_server_is_in_a_scope(monkeypatch):
    monkeypatch.setattr(servers.script, "by_systemd", lambda: True)
    argv = servers.command(["netserver"])
    assert argv[:3] == ["systemd-run", "--scope", "--quiet"]
    assert {"--property=MemoryMax=50%", "--property=TasksMax=4096"} <= set(argv)
    assert argv[-1] == "netserver"
    monkeypatch.setattr(servers.script, "by_systemd", lambda: False)
    assert servers.command(["netserver"])[0] == "prlimit"


def test_a_server_has_nothing_of_the_tasks_environment(monkeypatch):
    monkeypatch.setenv("API_PASSWORD", "secret")
    monkeypatch.setenv("OFFLOAD_LAB_NAME", "mine")
    environment = servers.environment()
    assert "secret" not in environment.values() and environment["OFFLOAD_LAB_NAME"] == "mine"
