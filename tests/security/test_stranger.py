# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stranger attacks the servers while a client uses them: from another host, from the client's host,
and from the client's host with the campaign's token.

The server's memory stays bounded, the client is served, the server lives, and sends nothing when
all have gone.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.offload.lab.plugins.module_utils._engines import door
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import engine_named
from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import (
    in_thread,
    wait_until,
)
from ansible_collections.offload.lab.plugins.module_utils._load import run as load_run
from ansible_collections.offload.lab.plugins.module_utils._load import servers
from ansible_collections.offload.lab.plugins.module_utils._observe import probe
from ansible_collections.offload.lab.plugins.module_utils._restore import sign_of_life
from ansible_collections.offload.lab.tests.security import stranger
from ansible_collections.offload.lab.tests.support import each_day

TOKEN = "0123456789abcdef" * 2
payload, sockets = engine_named("payload"), engine_named("sockets")
SERVER, PEER, STRANGER = (f"ol-str{os.getpid()}-{name}" for name in "spx")
ADDRESS = "198.18.91.2"
PORT = 12868
# Two hosts at the server's, each on a network of its own
NETWORK = f"""
netns add {SERVER}
netns add {PEER}
netns add {STRANGER}
-n {PEER} link add lab0 type veth peer name lab0 netns {SERVER}
-n {STRANGER} link add lab1 type veth peer name lab1 netns {SERVER}
-n {SERVER} address add {ADDRESS}/24 dev lab0
-n {PEER} address add 198.18.91.1/24 dev lab0
-n {SERVER} address add 198.18.92.2/24 dev lab1
-n {STRANGER} address add 198.18.92.1/24 dev lab1
-n {SERVER} link set lab0 up
-n {SERVER} link set lab1 up
-n {SERVER} link set lo up
-n {PEER} link set lab0 up
-n {STRANGER} link set lab1 up
-n {STRANGER} route add {ADDRESS} via 198.18.92.2
"""
SECONDS = 3.0  # of an attack
SERVED_S = 60.0  # in which the client is served, on a machine whose CPUs the attack keeps busy
MOST_MEMORY = 200 << 20  # bytes, of a server with its processes
# Bytes: the probe greets each connection with a line of 46; while a client is admitted, netserver answers
# others of its host, too, with some hundred bytes each.
SAID = {"probe": 1_000_000, "netserver": 10_000_000}
FEW = 10_000  # bytes: short flows of the client's own host are answered while the client makes some
AT_REST = 20_000  # bytes that the server's host sends in 2 s: ARP, and the ends of connections
MEASURED = {
    "address": ADDRESS,
    "port": PORT,
    "seconds": 1,
    "request_size": 1,
    "response_size": 1,
}


@pytest.fixture(name="packages", scope="session")
def _packages(lab_packages_required):
    if shutil.which("iperf3") is None:
        pytest.skip("needs iperf3")


@pytest.fixture(name="network", scope="module")
def _network(root_required):
    try:
        for line in NETWORK.strip().splitlines():
            subprocess.run(["ip", *line.split()], check=True)
        yield
    finally:
        for name in (SERVER, PEER, STRANGER):
            subprocess.run(["ip", "netns", "del", name], check=False)


def inside(name, *argv, **options):
    """Start a process in a namespace, with the token in its environment."""
    ours = {"OFFLOAD_LAB_TOKEN": TOKEN, "PYTHONPATH": os.pathsep.join(sys.path)}
    variables = {**os.environ, **ours}
    command = ["ip", "netns", "exec", name, *argv]
    return subprocess.Popen(command, env=variables, text=True, **options)


@contextlib.contextmanager
def served(argv):
    """Run a server."""
    guests = json.dumps({"token": TOKEN, "peers": ["198.18.91.1"]})
    with inside(SERVER, *argv, stdin=subprocess.PIPE, start_new_session=True) as server:
        try:
            server.stdin.write(guests)
            server.stdin.close()
            assert wait_until(listens, lambda: server.poll() is None)
            yield server
        finally:
            os.killpg(server.pid, 9)


def listens():
    """Return whether the server's port is open."""
    argv = ["ip", "netns", "exec", SERVER, "ss", "-Hltn", f"sport = :{PORT}"]
    return bool(subprocess.run(argv, check=True, capture_output=True).stdout)


def memory_of(group):
    """Return the bytes of memory of a group of processes; shared pages count once."""
    total = 0
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getpgid(int(path.name)) == group:
                text = (path / "smaps_rollup").read_text()
                total += int(text.split("\nPss:")[1].split()[0]) << 10
    return total


def sent():
    """Return the bytes that the server's host has sent."""
    argv = ["ip", "-j", "-s", "-n", SERVER, "link"]
    links = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    return sum(link["stats64"]["tx"]["bytes"] for link in links if link["ifname"] != "lo")


def serve(script):
    """Return the command line of the server of an engine."""
    return [sys.executable, "-IS", "-c", script.text(), "serve", ADDRESS, str(PORT)]


def of_probe(text):
    """Return the command line of a statement that uses the probe's module."""
    return [sys.executable, "-c", f"from {probe.__name__} import Probe, listen; {text}"]


def measure(test):
    """Return the command line of a client of engine sockets."""
    request_line = json.dumps({**MEASURED, "test": test})
    return [sys.executable, "-IS", "-c", sockets.text(), "measure", request_line]


def check():
    """Return the command line of a check of the payload."""
    return [sys.executable, "-IS", "-c", payload.text(), "check", ADDRESS, str(PORT), "1", "0"]


def behind_door(program):
    """Return the command line of the door in front of a program. It runs as user nobody, as on a
    node: netserver, as root, removes /dev/null when it ends.
    """
    source = inspect.getsource(door)  # user nobody may not be able to read the checkout
    return servers.command(
        ["/usr/bin/python3", "-IS", "-c", source, ADDRESS, str(PORT), "1", program]
    )


def cell(engine):
    """Return the command line of a cell of an engine, as module visit runs it."""
    load = {"engine": engine, "test": "TCP_STREAM", "duration": 1, "warm_up": 0}
    end = {"address": ADDRESS, "port": PORT - engine_named(engine).port_offset}
    text = f"""
from {load_run.__name__} import run_cell, workload
end = workload.endpoint({end!r})
print(run_cell(workload.checked({load!r}), [end], token={TOKEN!r})["error"])
"""
    return [sys.executable, "-c", text]


def had_no_error(text):
    assert text == "None\n"


def was_measured(text):
    assert json.loads(text)["transactions"] > 0


def was_checked(text):
    result_of = result.parse(text)
    assert result_of["error"] is None
    assert not any(check["wrong"] or check["short"] for check in result_of["checks"].values())


def was_answered(text):
    assert float(text) > 0


ASK = f"print(Probe({ADDRESS!r}, {PORT}, {TOKEN!r}).ask('clock')['time'])"
# By name the command line of a server, the command lines of its clients, and what judges their
# output
SERVERS = {
    "sockets": (
        serve(sockets),
        [(measure("TCP_RR"), was_measured), (measure("TCP_CRR"), was_measured)],
    ),
    "netserver": (behind_door("netserver"), [(cell("netperf"), had_no_error)]),
    "iperf3": (behind_door("iperf3"), [(cell("iperf3"), had_no_error)]),
    "payload": (serve(payload), [(check(), was_checked)]),
    "probe": (
        of_probe(f"listen({ADDRESS!r}, {PORT}, {TOKEN!r}).run()"),
        [(of_probe(ASK), was_answered)],
    ),
}
WHERE = {"stranger": (STRANGER, ""), "peer": (PEER, ""), "peer_with_token": (PEER, TOKEN)}


def use(clients):
    """Let each client do its work, while the server is attacked."""
    for argv, judge in clients:
        with inside(PEER, *argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
            out, err = client.communicate(timeout=SERVED_S)
        assert client.returncode == 0, err
        judge(out)


def attacked(attack, where):
    """Start an attack from a place of WHERE."""
    name, token = WHERE[where]
    argv = [sys.executable, stranger.__file__, attack, ADDRESS, str(PORT), str(SECONDS), token]
    return inside(name, *argv, stdout=subprocess.PIPE)


class Attack:
    """All attacks at the same time, from a place of WHERE, and what they see of the server."""

    def __init__(self, server, where):
        self.server = server
        self.most_memory = 0
        self.attackers = [attacked(attack, where) for attack in stranger.ATTACKS]
        self.watching = in_thread(self.watch)

    def watch(self):
        while self.goes_on():
            self.most_memory = max(self.most_memory, memory_of(self.server.pid))
            time.sleep(0.1)

    def goes_on(self):
        return any(attacker.poll() is None for attacker in self.attackers)

    def received(self):
        """Wait for the end of all attacks; return the bytes that the server sent to them."""
        texts = [attacker.communicate(timeout=SERVED_S)[0] for attacker in self.attackers]
        self.watching.join()
        return sum(map(int, texts))


def cases():
    """Give each server with each attacker. iperf3 serves one client at a time, so whoever has the
    token can keep others out. While a client is admitted by the door of iperf3, others on its host are
    served, too (docs/security.md).

    By day: the door in front of netserver, which iperf3 has too; the wire of the engines, by one of
    the two; and the probe.
    """
    for name, where in itertools.product(SERVERS, WHERE):
        if (name, where) != ("iperf3", "peer_with_token"):
            by_day = where == "peer" and name in ("netserver", "payload", "probe")
            yield pytest.param(name, where, marks=() if by_day else pytest.mark.nightly)


@pytest.mark.parametrize("name, attacker", list(cases()))
def test_a_server_lives_on_and_serves_its_client(packages, network, name, attacker):
    argv, clients = SERVERS[name]
    with served(argv) as server:
        attack = Attack(server, attacker)
        served_while_attacked = 0
        while attack.goes_on():
            use(clients)
            served_while_attacked += 1
        received = attack.received()
        assert served_while_attacked and server.poll() is None
        assert attack.most_memory < MOST_MEMORY
        if not WHERE[attacker][1]:
            assert received < SAID.get(name, FEW)
        use(clients)
        assert is_at_rest()


def is_at_rest():
    """Return whether the server's host ends to send."""

    def sends_nothing():
        before = sent()
        time.sleep(2)
        return sent() - before < AT_REST

    return wait_until(sends_nothing, patience=30)


@pytest.fixture(name="alive")
def _alive():
    """The sign of life of a node whose dead man's switch is armed."""
    path = Path(sign_of_life.ALIVE)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    yield path
    path.unlink()


@pytest.mark.parametrize("place", each_day(["peer"], WHERE))
def test_no_stranger_has_the_probe_restore_its_node(network, alive, place):
    before = alive.stat().st_mtime
    with served(SERVERS["probe"][0]):
        with attacked("lines", place) as attacker:
            attacker.communicate(timeout=SERVED_S)
        assert alive.stat().st_mtime == before
        give_up = f"Probe({ADDRESS!r}, {PORT}, {TOKEN!r}).ask('give_up')"
        with inside(PEER, *of_probe(give_up)) as client:
            assert client.wait(SERVED_S) == 0
        assert alive.stat().st_mtime == sign_of_life.NOBODY
