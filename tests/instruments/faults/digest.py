# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside a node, without the project: prints as JSON everything that can be read of its
settings.
"""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
from pathlib import Path


def shell(*argv):
    return subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False
    ).stdout


def links(where):
    links_by_name = {}
    for row in json.loads(shell("ip", *where, "-json", "-details", "address", "show")):
        name = row["ifname"]
        enter = ["ip", "netns", "exec", where[1]] if where else []
        links_by_name[name] = {
            "mtu": row["mtu"],
            "up": "UP" in row["flags"],
            "queues": [row.get("num_tx_queues"), row.get("num_rx_queues")],
            "gso": [row.get("gso_max_size"), row.get("gso_max_segs")],
            "txqlen": row.get("txqlen"),
            "kind": row.get("linkinfo"),
            "alias": row.get("ifalias"),
            "addresses": sorted(
                str(entry.get("local"))
                for entry in row["addr_info"]
                if entry.get("scope") != "link"
            ),
            "mac": row.get("address")
            if name == "underlay0"
            else None,  # other devices may be recreated
            "ethtool": [
                shell(*enter, "ethtool", option, name) for option in ("-k", "-l", "-g", "-c", "-a")
            ],
        }
    return links_by_name


def ovs(table, *columns):
    if not os.path.exists("/run/openvswitch/db.sock"):
        return "does not run"
    rows = shell(
        "ovs-vsctl",
        "--timeout=10",
        "--format=json",
        "--columns=" + ",".join(columns),
        "list",
        table,
    )
    return sorted(json.dumps(row) for row in json.loads(rows)["data"])


def buffers():
    """Return the devices of packet sockets, such as Open vSwitch's, with the size of their receive
    buffers.
    """
    shown = shell("ss", "--packet", "--memory", "--all", "--numeric", "--oneline")
    return sorted(re.findall(r":(\S*[^\s*]) .*skmem:\(.*?rb(\d+)", shown))


def readable(path):
    """Return a path with its content; the kernel refuses to read this file of a device with one
    queue."""
    try:
        return f"{path} {Path(path).read_text()}"
    except OSError:
        return path


spaces = sorted(line.split()[0] for line in shell("ip", "netns", "list").splitlines())
print(
    json.dumps(
        {
            "links": {space: links(["-netns", space] if space else []) for space in ["", *spaces]},
            "rps": {
                path: Path(path).read_text()
                for path in sorted(glob.glob("/sys/class/net/*/queues/rx-*/rps_*"))
            },
            "napi": {
                path: Path(path).read_text()
                for name in ("threaded", "gro_flush_timeout", "napi_defer_hard_irqs")
                for path in sorted(glob.glob(f"/sys/class/net/*/{name}"))
            },
            "xps": sorted(map(readable, glob.glob("/sys/class/net/*/queues/tx-*/xps_cpus"))),
            "ovs": [
                ovs("Open_vSwitch", "other_config", "external_ids"),
                ovs("Bridge", "name", "fail_mode", "other_config"),
                ovs("Port", "name", "tag", "protected", "other_config", "external_ids"),
                ovs("Interface", "name", "type", "options", "mtu_request"),
            ],
            "buffers": buffers(),
            "files": sorted(
                os.path.join(folder, name)
                for root in ("/var/lib/offload-lab", "/run/offload-lab")
                for folder, _folders, names in os.walk(root)
                for name in names
            ),
            "temporary": sorted(glob.glob("/tmp/offload-lab*")),
        },
        sort_keys=True,
    )
)
