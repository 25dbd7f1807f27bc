# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two namespaces joined by a NIC that lies, and the check of the payload between them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.module_utils._engines.payload.payload import (
    PayloadCheck,
)
from ansible_collections.offload.lab.plugins.module_utils._engines.wire import TOKEN_VARIABLE
from ansible_collections.offload.lab.plugins.module_utils._nodes import faults, wire
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload

DEVICES = ("lie0", "lie1")
SERVER = "192.0.2.2"
PORT = "12868"
VXLAN_SERVER = "192.0.3.2"
ENDS = ("192.0.2.1", SERVER)
VXLAN_ENDS = ("192.0.3.1", VXLAN_SERVER)
TOKEN = "0123456789abcdef" * 2
PEERS = ["192.0.2.1", "192.0.3.1", "198.18.95.1"]
MTU = 9000
MORE = 50  # bytes that VXLAN adds
GONE_AFTER = 30  # s of patience with a server
VETH = "veth"  # in place of a fault: the kernel's own pair of devices, no NIC that lies


class Nodes:
    """Two namespaces, ``a`` at 192.0.2.1 behind the NIC and ``b`` at 192.0.2.2; with ``tunnel`` VXLAN between
    them, too: 192.0.3.1 and 192.0.3.2. ``fault`` is what the NIC does, or :data:`VETH`. Tests of other
    processes have namespaces of other names.
    """

    def __init__(self, fault: str = faults.HONEST, name: str = "", tunnel: bool = False) -> None:
        name = name or f"ol-{os.getpid()}"
        self.spaces = (f"{name}-a", f"{name}-b")
        self.fault = fault
        self.tunnel = tunnel
        self.processes: list[int] = []

    def run(self, *argv: str) -> str:
        """Run a command, and return what it printed."""
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    def inside(self, number: int, *argv: str) -> str:
        """Run a command in one of the namespaces, and return what it printed."""
        return self.run("ip", "netns", "exec", self.spaces[number], *argv)

    def ethtool(self, *arguments: str) -> None:
        """Set features of the first node's device."""
        self.inside(0, "ethtool", "-K", DEVICES[0], *arguments)

    def rename(self, names: tuple[str, str]) -> None:
        """Give both devices names that no other test's devices have, and MTU 1500."""
        for number, (device, name) in enumerate(zip(DEVICES, names)):
            self.inside(number, "ip", "link", "set", device, "down")
            self.inside(number, "ip", "link", "set", device, "name", name)
            self.inside(number, "ip", "link", "set", name, "mtu", "1500", "up")

    def __enter__(self) -> Nodes:
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self) -> None:
        for space in self.spaces:
            self.run("ip", "netns", "add", space)
        if self.fault == VETH:
            self._make_veth()
        else:
            self._make_nic()
        for number, (space, name) in enumerate(zip(self.spaces, DEVICES), 1):
            address = f"192.0.2.{number}/24"
            self.run("ip", "-n", space, "addr", "add", address, "dev", name)
            self.run("ip", "-n", space, "link", "set", name, "up", "mtu", str(MTU))
            if self.tunnel:
                self._make_tunnel(number, space, name)

    def _make_veth(self) -> None:
        first, other = (("name", name, "netns", space) for name, space in zip(DEVICES, self.spaces))
        self.run("ip", "link", "add", *first, "type", "veth", "peer", *other)

    def _make_nic(self) -> None:
        taps = [wire.open_tap(*tap_place) for tap_place in zip(DEVICES, self.spaces)]
        self.processes.append(os.fork())
        if not self.processes[-1]:
            try:
                wire.Wire(taps[0], taps[1], faults.parse(self.fault)).carry()
            finally:
                os._exit(1)
        for tap in taps:
            os.close(tap.file)
            tap.control.close()

    def _make_tunnel(self, number: int, space: str, name: str) -> None:
        other = f"192.0.2.{3 - number}"
        tunnel_options = ["local", f"192.0.2.{number}", "remote", other, "dev", name]
        self.run(
            *("ip", "-n", space, "link", "add", "vx", "type", "vxlan", "id", "1", "dstport"),
            *("4789", *tunnel_options),
        )
        self.run("ip", "-n", space, "addr", "add", f"192.0.3.{number}/24", "dev", "vx")
        self.run("ip", "-n", space, "link", "set", "vx", "up", "mtu", str(MTU - MORE))

    def __exit__(self, *_error: object) -> None:
        for process in filter(None, self.processes):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        self.processes.clear()
        for space in self.spaces:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


@contextlib.contextmanager
def served(nodes: Nodes, address: str = SERVER) -> Iterator[None]:
    """Run the server in the second node until the block ends."""
    inside = ["ip", "netns", "exec", nodes.spaces[1], sys.executable, "-c", PayloadCheck().text()]
    argv = [*inside, "serve", address, PORT]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdin is not None
            server.stdin.write(json.dumps({"token": TOKEN, "peers": PEERS}))
            server.stdin.close()
            until = time.monotonic() + GONE_AFTER
            while f"{address}:{PORT}" not in nodes.inside(1, "ss", "-Hltn"):
                assert time.monotonic() < until and server.poll() is None
                time.sleep(0.05)
            yield
        finally:
            server.kill()


def checked(
    nodes: Nodes, seconds: float = 3, address: str = SERVER, rate: float = 0
) -> payload.Payload:
    """Check once from the first node; return what was found."""
    option_words: Sequence[str] = (
        "env",
        f"{TOKEN_VARIABLE}={TOKEN}",
        sys.executable,
        "-c",
        PayloadCheck().text(),
        "check",
        address,
        PORT,
        str(seconds),
        str(rate),
    )
    return result.parse(nodes.inside(0, *option_words))
