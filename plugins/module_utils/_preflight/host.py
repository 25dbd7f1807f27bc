# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab needs of a host, read in one go: programs, links, who listens on a TCP port, and whether
another host's port can be reached.

Nothing is changed, and nothing has to be installed for it.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import pwd
import re
import shutil
import socket
import time
from typing import Any, Iterable, Iterator, TypedDict

from .._base import network
from .._base.errors import LabError
from .._ethtool import read as ethtool
from .._ethtool.features import Features
from .._host import bpf, privileges
from .._host.runner import SEARCH_PATH, run
from .._iproute import management
from .._iproute import read as iproute
from .._iproute.parse import usable_links
from .._load import servers
from .._observe import probe_process
from .._ovs import database, ovs_state
from .._restore import snapshot

PATIENCE = 3  # seconds for an answer from the other end
ANY = ("*", "0.0.0.0", "::")
# The other end, or its kernel, answered: nothing between the two is in the way.
REACHED = (0, errno.ECONNREFUSED)


class Listener(TypedDict):
    """Who listens; of a program that ss may not see there is no pid."""

    address: str
    port: int
    program: str
    pids: list[
        int
    ]  # of all processes that have the socket, such as a netserver's children, which inherit it


class Reached(TypedDict):
    """Whether another host's port answered, and what."""

    address: str
    port: int
    reached: bool
    answer: str


def parse_listeners(text: str) -> list[Listener]:
    """Return the listeners that ``ss -Htlnp`` prints."""
    rows: list[Listener] = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 5 or not fields[3].rpartition(":")[2].isdigit():
            continue
        address, _colon, port = fields[3].rpartition(":")
        processes = re.findall(r'\("([^"]*)",pid=(\d+)', line)
        rows.append(
            {
                "address": address.strip("[]").partition("%")[0],
                "port": int(port),
                "program": processes[0][0] if processes else "",
                "pids": [int(pid) for _name, pid in processes],
            }
        )
    return rows


def listeners() -> list[Listener]:
    """Return the TCP listeners of this network namespace, none where there is no ``ss``."""
    try:
        return parse_listeners(run(["ss", "-H", "-t", "-l", "-n", "-p"]).out)
    except LabError:
        return []


def ours(address: str | None, port: int) -> list[int]:
    """Return the pids of the lab's own listeners there: its netserver's and its probe's."""
    pids = [
        state["pid"]
        for state in servers.known().values()
        if state and (state["server"]["address"], state["server"]["port"]) == (address, port)
    ]
    probe = probe_process.find(address, port) if address else None
    return pids + ([probe["pid"]] if probe else [])


def held(address: str | None, port: int, rows: Iterable[Listener]) -> Listener | None:
    """Return who else than the lab holds a port that we want to listen on, of :func:`listeners`;
    None if nobody.
    """
    mine = set(ours(address, port))
    for row in rows:
        if (
            row["port"] == port
            and row["address"] in (address, *ANY)
            and not mine.intersection(row["pids"])
        ):
            return row
    return None


@contextlib.contextmanager
def connected(kind: int, address: str, port: int, source: str | None) -> Iterator[socket.socket]:
    """Give a socket of a kind that is connected to a port, from the address ``source`` if there is
    one.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.closing(socket.socket(family, kind)) as probe:
        probe.settimeout(PATIENCE)
        if source:
            probe.bind((source, 0))
        probe.connect((address, port))
        yield probe


def is_silent(address: str, port: int, source: str | None = None) -> bool:
    """Return whether a UDP port does not answer at all: it is open, or a firewall drops.

    A closed one refuses.
    """
    try:
        with connected(socket.SOCK_DGRAM, address, port, source) as probe:
            probe.send(b"")
            probe.recv(1)
    except socket.timeout:
        return True
    except OSError as error:
        return error.errno != errno.ECONNREFUSED
    return False


def reach(address: str, port: int, source: str | None = None) -> Reached:
    """Return the outcome of a TCP connection that is closed immediately.

    A port on which nobody listens answers with a refusal, which shows as well that no firewall is
    in between.
    """
    number: int | None = 0
    answer = "open"
    try:
        with connected(socket.SOCK_STREAM, address, port, source):
            pass
    except socket.timeout:
        number = errno.ETIMEDOUT
        answer = f"no answer within {PATIENCE} s"
    except OSError as error:
        number = error.errno
        answer = error.strerror or str(error)
    return {"address": address, "port": port, "reached": number in REACHED, "answer": answer}


NEEDED = ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]
LINK = ("name", "mtu", "min_mtu", "max_mtu", "up", "kind", "master", "global")


class Asked(TypedDict):
    """What is asked, see module preflight_info; ``vxlan_port`` is 0 where no tunnel is wanted."""

    programs: list[str]
    device: str
    bridge: str
    datapath: str
    address: str | None
    ports: list[int]
    peers: list[str]
    vxlan_port: int
    forwards: list[str]


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def user() -> dict[str, Any]:
    """Return the name of the user that tasks run as, and the capabilities that it lacks."""
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = str(os.geteuid())
    return {
        "name": name,
        "missing": privileges.missing_capabilities(_text("/proc/self/status"), NEEDED),
    }


def distribution() -> dict[str, Any]:
    """Return ``{"id", "like", "version", "name"}`` of /etc/os-release."""
    lines = (line.partition("=") for line in _text("/etc/os-release").splitlines())
    values = {key: value.strip("\"'") for key, _equals, value in lines}
    return {
        "id": values.get("ID", ""),
        "like": values.get("ID_LIKE", "").split(),
        "version": values.get("VERSION_ID", ""),
        "name": values.get("PRETTY_NAME", ""),
    }


def programs(names: Iterable[str]) -> dict[str, str | None]:
    """Return ``{name: path, or None where it is missing}``."""
    path = (
        SEARCH_PATH
        + os.pathsep
        + "/usr/share/openvswitch/scripts"
        + os.pathsep
        + os.environ.get("PATH", "")
    )
    return {name: shutil.which(name, path=path) for name in names}


def options_of(program: str) -> list[str] | None:
    """Return the long options that ``--help`` of a program lists; None where it is missing."""
    try:
        text = run([program, "--help"], check=False).out
    except LabError:
        return None
    return sorted(set(re.findall(r"(?<!\S)--[a-z0-9-]+", text)))


def links() -> dict[str, dict[str, Any]]:
    """Return all links by name; without iproute2 what the kernel's files say."""
    by_name = {}
    try:
        for name, link in usable_links(iproute.read())[0].items():
            by_name[name] = {key: value for key, value in link.items() if key in LINK}
        return by_name
    except LabError:
        base = "/sys/class/net"
        return {
            name: {
                "name": name,
                "mtu": int(_text(f"{base}/{name}/mtu") or 0),
                "min_mtu": 0,
                "max_mtu": 0,
                "up": _text(f"{base}/{name}/operstate") == "up",
                "kind": None,
                "master": None,
                "global": None,
            }
            for name in filter(network.is_device_name, os.listdir(base))
        }


def driver(device: str) -> str | None:
    """Return the driver of a device; None without ethtool, or where it has none."""
    try:
        name = network.device_name(device)
        name_of_driver: str | None = ethtool.read_single("driver", name, None).get("driver")
        return name_of_driver
    except LabError:
        return None


def features(device: str) -> Features | None:
    """Return the names and states of a device's features, or None where ethtool or the device is
    missing.
    """
    try:
        return ethtool.read_features([network.device_name(device)], None, skip_missing=True).get(
            device
        )
    except LabError:
        return None


def forwarded(devices: Iterable[str]) -> dict[str, Features]:
    """Return the features of devices between which a host forwards, by device."""
    by_device = {device: features(device) for device in devices}
    return {device: of_device for device, of_device in by_device.items() if of_device}


def switch(bridge: str, datapath: str) -> dict[str, str | None]:
    """Return the datapath that the bridge would have, and why the bridge cannot be the lab's, or
    None.
    """
    if datapath == "auto":
        datapath = "system" if database.kernel_datapath() else "netdev"
    try:
        network.device_name(bridge, "bridge")
        ovs_state.check_bridge(database.switch_seen()["ovs"], bridge)
    except LabError as error:
        return {"datapath": datapath, "refused": str(error)}
    return {"datapath": datapath, "refused": None}


def _peers(options: Asked) -> list[Reached]:
    """Return which ports of the peers answer."""
    return [
        reach(peer, port, options["address"])
        for peer, port in itertools.product(options["peers"], options["ports"])
    ]


def _taken(options: Asked) -> list[dict[str, Any]]:
    """Return the ports that other processes of this host hold."""
    rows = listeners()
    holders = {port: held(options["address"], port, rows) for port in options["ports"]}
    return [{"port": port, **holder} for port, holder in holders.items() if holder]


def read(options: Asked) -> dict[str, Any]:
    """Return the requirements of a host as they are met now; ``options`` are the module's."""
    shown = links()
    paths = programs(options["programs"])
    carrying = management.find()
    # Where the lab is there already its tunnel takes what comes, and says nothing.
    ask = options["vxlan_port"] and not any(link["kind"] == "vxlan" for link in shown.values())
    silent = [
        peer
        for peer in options["peers"]
        if ask and is_silent(peer, options["vxlan_port"], options["address"])
    ]
    return {
        "user": user(),
        "distribution": distribution(),
        "programs": paths,
        "iperf3_options": options_of("iperf3") if paths.get("iperf3") else None,
        "links": shown,
        "features": features(options["device"]),
        "forwarded": forwarded(options["forwards"]),
        "bpf": bpf.described(options["device"]),
        "driver": driver(options["device"]),
        "management": [name for name in carrying.devices if network.is_device_name(name)],
        "management_warning": management.warning(carrying),
        "switch": switch(options["bridge"], options["datapath"]),
        "taken": _taken(options),
        "peers": _peers(options),
        "silent": silent,
        "vxlan_port": options["vxlan_port"],
        "measuring": snapshot.is_current(snapshot.PATH),
        "clock": time.time(),
        "kernel": os.uname().release,
    }
