# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._host import daemons, netns
from ansible_collections.offload.lab.plugins.module_utils._host.processes import started_at
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import wait_until
from ansible_collections.offload.lab.plugins.module_utils._load import servers

needs_netserver = pytest.mark.skipif(
    shutil.which("netserver", path="/usr/bin:/usr/local/bin") is None,
    reason="netserver is not installed",
)


@pytest.fixture(autouse=True)
def state_dir(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    monkeypatch.setattr(servers.daemons, "FOLDER", str(folder))
    yield folder
    servers.stop_all(list(servers.known()))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def server(**more):
    return {
        "netns": None,
        "address": "127.0.0.1",
        "port": free_port(),
        "engine": "netperf",
        **more,
    }


ACCESS = servers.Access("0123456789abcdef" * 2, ["127.0.0.1"])


def listening(where):
    return servers._bind_error(where) == errno.EADDRINUSE


def test_its_command_line_has_its_address_and_no_secret():
    argv = ["python3", "-IS", "/proc/self/fd/197", "fd00::1", "99", "1", "netserver"]
    where = server(netns="tenant1", address="fd00::1", port=99)
    assert servers.argv(where) == argv
    assert servers.label(where) == "tenant1/[fd00::1]:99"
    many = server(engine="iperf3", port=99, count=3)
    assert servers.argv(many)[3:] == ["127.0.0.1", "99", "3", "iperf3"]
    assert servers.labels(many) == ["127.0.0.1:99", "127.0.0.1:100", "127.0.0.1:101"]


@needs_netserver
def test_started_known_and_stopped(state_dir):
    servers_asked = [server() for _number in range(3)]
    servers.start_all(servers_asked, ACCESS)
    assert all(listening(entry) for entry in servers_asked)
    before = servers.known()
    assert sorted(state["server"]["port"] for state in before.values()) == sorted(
        entry["port"] for entry in servers_asked
    )
    assert servers.plan(before, servers_asked, "present", False, ACCESS) == ([], [])
    stop, start = servers.plan(before, servers_asked[:1], "present", True, ACCESS)
    assert len(stop) == 2 and start == []
    servers.stop_all(list(before))
    assert not any(listening(entry) for entry in servers_asked)
    assert not state_dir.exists()


@needs_netserver
def test_what_it_serves_ends_with_it():
    """A running test is served by a child, which would keep the port's address busy."""
    where = server()
    listening_at = (where["address"], where["port"])
    servers.start_all([where], ACCESS)
    with socket.create_connection(listening_at) as admitted, socket.create_connection(
        listening_at
    ) as control:
        admitted.sendall(f"{ACCESS.token}\n".encode())
        assert admitted.recv(4096).startswith(b"open")
        control.sendall(b"\0")
        pid = list(servers.known().values())[0]["pid"]
        children = []

        def has_child():
            out = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(pid)], stdout=subprocess.PIPE, check=False
            )
            children[:] = out.stdout.split()
            return bool(children)

        assert wait_until(has_child)
        servers.stop_all(list(servers.known()))
    assert wait_until(lambda: not os.path.exists("/proc/" + children[0].decode()))


def test_it_waits_for_one_that_is_ending_and_has_no_command_line_any_more(monkeypatch):
    """Its port is not free yet then."""
    ending = (
        "import signal, sys, time; signal.signal(15, lambda *_: (time.sleep(0.3), sys.exit())); print(); "
        "time.sleep(60)"
    )
    process = subprocess.Popen(
        ["python3", "-Iuc", ending], start_new_session=True, stdout=subprocess.PIPE
    )
    try:
        process.stdout.readline()
        where = server(port=9)
        daemons.write(servers._state_file(where), process.pid, {"server": where, "inode": 0})
        monkeypatch.setattr(servers, "_is_ours", lambda _state: True)
        servers.stop_all([servers._state_file(where)])
        assert started_at(process.pid) is None
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@needs_netserver
def test_a_dead_one_is_started_again():
    where = server()
    servers.start_all([where], ACCESS)
    pid = list(servers.known().values())[0]["pid"]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    before = servers.known()
    assert list(before.values()) == [None]
    stop, start = servers.plan(before, [where], "present", False, ACCESS)
    assert (stop, start) == (list(before), [where])


@pytest.mark.parametrize(
    "change",
    [
        {"started": 1},
        {"inode": 1},
        {"server": {"netns": None, "address": "127.0.0.2", "port": 1}},
        {"pid": "1"},
        {"pid": None},
        {"pid": -1},
        {"server": None},
        {"server": {}},
    ],
)
def test_a_process_that_is_not_the_one_that_was_started_is_not_signalled(state_dir, change):
    """The state file of a netserver whose pid is somebody else's by now."""
    other = subprocess.Popen(["sleep", "60"])
    try:
        state_dir.mkdir()
        state = {
            "pid": other.pid,
            "started": started_at(other.pid),
            "server": server(),
            "inode": netns.inode("/proc/self/ns/net"),
        }
        path = state_dir / "netserver-@127.0.0.1-1.json"
        path.write_text(json.dumps(dict(state, **change)))
        assert servers.known() == {str(path): None}
        servers.stop_all([str(path)])
        assert other.poll() is None and not path.exists()
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\0"])
def test_a_torn_state_file_is_nobody(state_dir, content):
    state_dir.mkdir()
    (state_dir / "netserver-x.json").write_text(content)
    assert list(servers.known().values()) == [None]


def test_a_port_of_somebody_else_is_said_before_anything_starts():
    where = server()
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("0.0.0.0", where["port"]))
        held.listen(1)
        with pytest.raises(InputError, match="held by a process that is not the lab's"):
            servers.require_free([where])
    servers.require_free([where])


def test_an_address_that_is_not_here():
    with pytest.raises(InputError, match="the node does not have this address"):
        servers.require_free([server(address="192.0.2.1")])
    with pytest.raises(InputError, match="no such network namespace"):
        servers.require_free([server(netns="no-such-namespace")])


def test_one_that_ends_immediately_is_said_and_nothing_is_left(monkeypatch, state_dir):
    monkeypatch.setattr(servers, "argv", lambda _server: ["false"])
    with pytest.raises(LabError, match="did not begin to listen"):
        servers.start_all([server()], ACCESS)
    assert not state_dir.exists()


def plan_names(before, servers_asked, state="present", purge=False):
    stop, start = servers.plan(before, servers_asked, state, purge, ACCESS)
    return [os.path.basename(path) for path in stop], start


def test_plan(state_dir, monkeypatch):
    monkeypatch.setattr(netns, "inode", lambda _path: 7)
    first = server(port=1)
    two = server(port=2, netns="t1")
    path = str(state_dir / "netserver-@127.0.0.1-1.json")
    running = {path: {"inode": 7, "server": first, **ACCESS._asdict()}}
    assert plan_names({}, [first, two]) == ([], [first, two])
    assert plan_names(running, [first, two]) == ([], [two])
    elsewhere = {path: {**running[path], "inode": 6}}
    assert plan_names(elsewhere, [first]) == (
        ["netserver-@127.0.0.1-1.json"],
        [first],
    )
    assert plan_names(running, [two]) == ([], [two])
    assert plan_names(running, [two], purge=True) == (["netserver-@127.0.0.1-1.json"], [two])
    assert plan_names(running, [], "absent") == (["netserver-@127.0.0.1-1.json"], [])
    assert plan_names(running, [two], "absent") == ([], [])
    assert plan_names(running, [first], "absent") == (["netserver-@127.0.0.1-1.json"], [])


def test_a_server_that_would_refuse_a_peer_is_started_again(state_dir, monkeypatch):
    monkeypatch.setattr(netns, "inode", lambda _path: 7)
    first = server(port=1)
    path = str(state_dir / "netserver-@127.0.0.1-1.json")
    running = {path: {"inode": 7, "server": first, **ACCESS._asdict()}}
    fewer = servers.Access(ACCESS.token, [])
    more = servers.Access(ACCESS.token, [*ACCESS.peers, "192.0.2.1"])
    assert servers.plan(running, [first], "present", False, fewer) == ([], [])
    assert servers.plan(running, [first], "present", False, more) == ([path], [first])
    other = servers.Access("f" * 32, ACCESS.peers)
    assert servers.plan(running, [first], "present", False, other) == ([path], [first])
    wider = {**first, "count": 2}
    assert servers.plan(running, [wider], "present", False, ACCESS) == ([path], [wider])


def test_all_servers_of_a_node_have_one_token():
    states = [None, {}, {"token": "ab"}, {"token": "cd"}]
    assert servers.token_of(states) == "ab"
    assert len({servers.token_of([]), servers.token_of([None])}) == 2


@needs_netserver
def test_the_state_file_is_for_root_alone(state_dir):
    servers.start_all([server()], ACCESS)
    [path] = state_dir.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["token"] == ACCESS.token
