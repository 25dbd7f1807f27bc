# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers of a campaign as a host sees them: which processes they are, and what they may do."""

from __future__ import annotations

WORKLOADS = {
    "netperf": "{name: netperf, test: TCP_STREAM, engine: netperf}",
    "iperf3": "{name: iperf3, test: TCP_STREAM, engine: iperf3}",
    "sockets": "{name: sockets, test: TCP_STREAM, engine: sockets}",
    "payload": "payload",
}
# Run by Python on a host: prints all processes as JSON.
PROCESSES = """
import json, os
seen = []
for number in filter(str.isdigit, os.listdir("/proc")):
    try:
        read = lambda name: open(f"/proc/{number}/{name}").read()
        status = dict(line.split(":", 1) for line in read("status").splitlines())
        seen.append({"name": status["Name"].strip(), "argv": read("cmdline").split("\\0")[:-1],
            "user": int(status["Uid"].split()[0]), "capabilities": int(status["CapEff"], 16),
            "bounding": int(status["CapBnd"], 16), "no_new_privileges": int(status["NoNewPrivs"]),
            "unit": read("cgroup").strip().rpartition("/")[2], "number": int(number),
            "oom": int(read("oom_score_adj"))})
    except OSError:
        pass
print(json.dumps(seen))
"""
NOBODY = 65534


def is_server(process):
    """Return whether a process of PROCESSES is a server of an engine, or its door."""
    doors = process["name"].endswith("-door")
    programs = process["name"] == "netserver" or process["argv"][:2] == ["iperf3", "-s"]
    return doors or programs or "serve" in process["argv"]


def check_servers(servers):
    """Check that servers run as nobody, without privileges, each in a scope of systemd."""
    assert servers
    for server in servers:
        assert server["user"] == NOBODY, server
        assert server["capabilities"] == server["bounding"] == 0, server
        assert server["no_new_privileges"] == 1, server
        assert server["unit"].startswith("offload-lab-server-"), server
