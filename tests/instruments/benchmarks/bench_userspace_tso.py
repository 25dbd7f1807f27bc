# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open vSwitch's userspace datapath without and with ``userspace-tso-enable``: streams of iperf3
between namespaces and its local bridge, as ovs-dev measured them in 2020 (docs/studies/userspace_tso.md).

The daemon is started again for each round, since it reads the option at its start. Without it all
ends have ``tx off``: the datapath could not fill in their checksums. Root; an Open vSwitch of its own
in a namespace of its own. ``BENCH_ROUNDS`` (default 10) and ``BENCH_SECONDS`` (3) are the number of
rounds and a cell's length.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict

from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._load import run, servers
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.effects import t_quantile
from ansible_collections.offload.lab.plugins.plugin_utils._trials.trials import result_of

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "10"))
SECONDS = int(os.environ.get("BENCH_SECONDS", "3"))
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
HOST = "ol-bench-ovs"  # its bridge is the end "local bridge"
# End: (namespace, IPv4, IPv6)
ENDS = {
    "local bridge": (HOST, "198.18.78.1", "fd00:78::1"),
    "namespace": ("ol-bench-x1", "198.18.78.2", "fd00:78::2"),
    "other namespace": ("ol-bench-x2", "198.18.78.3", "fd00:78::3"),
}
CELLS = (
    ("namespace", "other namespace", 1),
    ("namespace", "local bridge", 1),
    ("local bridge", "namespace", 1),
    ("namespace", "other namespace", 2),
)
PORT = 13870


def call(*arguments):
    """Run a command and return its output."""
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def inside(netns, *arguments):
    """Run a command in a namespace."""
    return call("ip", "netns", "exec", netns, *arguments)


class Switch:
    """An Open vSwitch with one bridge, in the namespace HOST."""

    def __init__(self, folder):
        self.folder = folder
        self.tools = ("env", f"OVS_RUNDIR={folder}")

    def vsctl(self, *arguments):
        """Run ovs-vsctl."""
        call(*self.tools, "ovs-vsctl", f"--db=unix:{self.folder}/db.sock", *arguments)

    def daemon(self, name, *arguments):
        """Start a daemon in the namespace."""
        kept = (f"--pidfile={self.folder}/{name}.pid", f"--log-file={self.folder}/{name}.log")
        inside(HOST, *self.tools, name, *arguments, "--detach", "--no-chdir", *kept)

    def up(self):
        """Start the database, with a bridge and its ports in it."""
        call("ovsdb-tool", "create", f"{self.folder}/conf.db", SCHEMA)
        remote = f"--remote=punix:{self.folder}/db.sock"
        self.daemon("ovsdb-server", f"{self.folder}/conf.db", remote)
        self.vsctl("--no-wait", "init")
        bridge = ("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        # The ends keep its address; a new daemon would choose another one.
        hardware = ("other_config:hwaddr=02:00:00:00:78:01",)
        self.vsctl("--no-wait", *bridge, *hardware)
        for number in (1, 2):
            self.vsctl("--no-wait", "add-port", "br0", f"x{number}")

    def start(self, tso):
        """Start the datapath without or with segmentation by it."""
        self.stop("ovs-vswitchd")
        tso_option = f"other_config:userspace-tso-enable={'true' if tso else 'false'}"
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", tso_option)
        self.daemon("ovs-vswitchd", f"unix:{self.folder}/db.sock")
        addresses("br0", *ENDS["local bridge"])
        for name, (netns, _four, _six) in ENDS.items():
            device = "br0" if name == "local bridge" else "x"
            for feature in ("tx", "tso"):
                inside(netns, "ethtool", "-K", device, feature, "on" if tso else "off")

    def stop(self, *names):
        """End daemons, and wait until they have ended."""
        for name in names:
            try:
                with open(f"{self.folder}/{name}.pid", encoding="ascii") as stream:
                    pid = int(stream.read())
            except OSError:
                continue
            os.kill(pid, 15)
            while os.path.exists(f"/proc/{pid}"):
                time.sleep(0.05)


def addresses(device, netns, *both):
    """Give a device its addresses and take it up."""
    for address, length in zip(both, ("24", "64")):
        more = ("nodad",) if ":" in address else ()
        inside(netns, "ip", "address", "replace", f"{address}/{length}", "dev", device, *more)
    inside(netns, "ip", "link", "set", device, "up")


def up():
    """Make the namespaces, their veths and servers; return the server's descriptions."""
    for netns, _four, _six in ENDS.values():
        call("ip", "netns", "add", netns)
    for number, name in ((1, "namespace"), (2, "other namespace")):
        netns = ENDS[name][0]
        pair = f"link add name x{number} type veth peer name x netns {netns}"
        call("ip", "-n", HOST, *pair.split())
        call("ip", "-n", HOST, "link", "set", f"x{number}", "up")
        addresses("x", *ENDS[name])


def measure(sender, receiver, family):
    """Return the Mbit/s of a stream, None where it failed."""
    near_end = ENDS[sender]
    there = ENDS[receiver]
    server_asked = {"netns": there[0], "address": there[family], "port": PORT, "engine": "iperf3"}
    access = servers.Access(servers.token_of([]), [near_end[family]])
    servers.start_all([server_asked], access)
    try:
        load = workload.checked(
            {"engine": "iperf3", "test": "TCP_STREAM", "duration": SECONDS, "cpu": False}
        )
        end = {
            "netns": near_end[0],
            "local": near_end[family],
            "address": there[family],
            "port": 12865,
        }
        result, error = result_of(run.run_cell(load, [workload.endpoint(end)], token=access.token))
    finally:
        servers.stop_all([servers._state_file(server_asked)])
    if error:
        print(f"{sender} to {receiver}: {error}", flush=True)
        return None
    return result["throughput_mbps"]


def table(rates):
    """Print medians, and the ratio of each round's pair with its 95 % interval."""
    for cell, rows in rates.items():
        off, on = zip(*rows)
        logs = [math.log(after / before) for before, after in rows]
        mean = statistics.mean(logs)
        half = 0.0
        if len(logs) > 1:
            quantile = t_quantile(0.975, len(logs) - 1)
        half = quantile * statistics.stdev(logs) / math.sqrt(len(logs))
        low, middle, high = (math.exp(mean + step) for step in (-half, 0, half))
        name = f"{cell[0]} -> {cell[1]}, IPv{4 if cell[2] == 1 else 6}"
        print(
            f"{name:40} {statistics.median(off):8.0f} {statistics.median(on):8.0f} Mbit/s"
            f"  {middle:6.2f} ({low:.2f} to {high:.2f}), {len(rows)} rounds",
            flush=True,
        )


def main():
    """Measure all cells in each round, without and with, in random order."""
    rates = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="ol-bench-") as folder:
        switch = Switch(folder)
        try:
            up()
            switch.up()
            for _round in range(ROUNDS):
                packets_seen = {}
                for tso in random.sample((False, True), 2):
                    switch.start(tso)
                    for cell in random.sample(CELLS, len(CELLS)):
                        packets_seen[cell, tso] = measure(*cell)
                for cell in CELLS:
                    pair = packets_seen[cell, False], packets_seen[cell, True]
                    if None not in pair:
                        rates[cell].append(pair)
            table(rates)
        finally:
            switch.stop("ovs-vswitchd", "ovsdb-server")
            for netns, _four, _six in ENDS.values():
                subprocess.run(("ip", "netns", "del", netns), check=False)


if __name__ == "__main__":
    main()
