# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every parser of the collection, with the real samples that are mutated for it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from ansible_collections.offload.lab.plugins.module_utils._engines.iperf3 import iperf3
from ansible_collections.offload.lab.plugins.module_utils._engines.sockets import sockets
from ansible_collections.offload.lab.plugins.module_utils._ethtool import features, settings
from ansible_collections.offload.lab.plugins.module_utils._iproute import management
from ansible_collections.offload.lab.plugins.module_utils._iproute import parse as ip_json
from ansible_collections.offload.lab.plugins.module_utils._nodes import read_nodes
from ansible_collections.offload.lab.plugins.module_utils._ovs import tables
from ansible_collections.offload.lab.plugins.module_utils._restore import snapshot
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import (
    campaign_file,
    chosen,
    plan_file,
)
from ansible_collections.offload.lab.plugins.plugin_utils._netperf_logs.parse import (
    parse_netperf,
)
from ansible_collections.offload.lab.plugins.plugin_utils._trials import cpu, records

CHECKOUT = Path(__file__).resolve().parents[3]
TUNNELS = """Tunnel information for eth0:
  UDP port table 0:
    Size: 4
    Types: vxlan, vxlan-gpe
    Entries (2):
        port 4789, vxlan
        port 1234, vxlan-gpe
  UDP port table 1:
    Size: 1
    Types: none (static entries)
    Entries (1):
        port 4789, vxlan
"""
LINKS = json.dumps(
    [
        {
            "ifindex": 2,
            "ifname": "veth0",
            "link": "veth1",
            "flags": ["BROADCAST", "UP"],
            "mtu": 9000,
            "min_mtu": 68,
            "max_mtu": 65535,
            "operstate": "UP",
            "address": "02:00:00:00:00:01",
            "link_netnsid": 0,
            "ifalias": "offload.lab:a",
            "linkinfo": {
                "info_kind": "vxlan",
                "info_data": {"id": 10, "port": 4789, "udp_csum": False},
            },
            "addr_info": [
                {"family": "inet", "local": "198.18.0.1", "prefixlen": 24, "scope": "global"}
            ],
        },
        {},
    ]
)
NEIGHBORS = json.dumps(
    [{"dst": "fd00::2", "dev": "veth0", "lladdr": "02:00:00:00:00:02", "state": ["PERMANENT"]}]
)
MOUNTS = """24 30 0:22 / /sys rw,nosuid,relatime shared:7 - sysfs sysfs rw
31 24 0:4 net:[4026532291] /run/netns/lab-node1 rw shared:9 master:1 - nsfs nsfs rw
32 24 0:4 / /run/with\\040space rw - tmpfs tmpfs rw,size=1k
"""
QUERY = json.dumps(
    [
        {
            "rows": [
                {
                    "name": "br-int",
                    "ports": ["set", [["uuid", "7f1c"]]],
                    "external_ids": ["map", [["offload-lab", "switch"]]],
                }
            ]
        }
    ]
)
TRIAL = {
    "schema": 1,
    "id": "b01-v01-c001",
    "campaign": "demo",
    "block": 1,
    "visit": 1,
    "cell": 1,
    "pair": "node1-node2",
    "path": "physical",
    "profile": "all_on",
    "workload": {"name": "tcp_stream"},
    "started": 1.5,
    "finished": 2.5,
    "streams": [{"argv": ["netperf"], "rc": 0, "raw": "THROUGHPUT=9000.12\n", "stderr": ""}],
    "result": {"throughput_mbps": 9000.12, "mss": None},
    "marks": [],
    "error": None,
}
SOCKETS_STREAM = """{"test": "UDP_STREAM", "length": 2, "elapsed": 2.000033, "client": {"user": 0.143789, "system":
1.711531, "wall": 2.0001, "bytes": 4172611584, "calls": 63669}, "server": {"user": 0.1366, "system": 0.841316, "wall":
1.99977, "bytes": 4172611584, "calls": 55595}, "send_socket": 212992, "recv_socket": 212992, "mss": 1448,
"message_size": 1400, "retransmits": 1479, "parts": [[1795780400.67, 1795780401.18, 1013710848]]}"""
SOCKETS_REQUESTS = """{"test": "TCP_LOADED_RR", "length": 1.6, "elapsed": 1.6, "transactions": 3, "lost": 0, "latency":
{"min": 23.3, "mean": 58.4, "max": 5531.6, "stddev": 260.0, "p50": 39.2, "p90": 44.7, "p99": 134.2, "p999": 4524.0,
"classes": {"928": 1, "1024": 2}}, "unloaded": null, "client": {"user": 0.1, "system": 0.2, "wall": 2.0}, "server":
{"user": 0.1, "system": 0.2, "wall": 0}, "parts": [[1795780400.67, 1795780401.18, 3]], "streams": []}"""
CAMPAIGN = """name: fuzz
seed: 7
blocks: 6
design: profiles
sides: [client, server]
paths: [physical, tenant_vxlan]
mtus: [9000, 1500]
factors: [tx, {name: gro, devices: [underlay]}]
profiles: {base: {tx: true}, other: {tx: false}}
control: base
pairs: [node1-node2]
time_budget: 20 min
workloads:
  - tcp_stream
  - {name: small, test: UDP_STREAM, message_size: 64, streams: 4, confidence: {level: 99, width_percent: 5}}
"""


def iperf3_texts():
    """Return what iperf3 of two distributions printed."""
    folder = CHECKOUT / "tests/unit/plugins/module_utils/_engines/iperf3/samples"
    return [path.read_text() for path in sorted(folder.glob("*.json"))]


def corpus(folder):
    """Return the recorded outputs of one kind."""
    root = Path(os.environ.get("OFFLOAD_LAB_CORPUS") or CHECKOUT.parent / "shared" / "corpus")
    return [path.read_text(encoding="utf-8") for path in sorted((root / folder).iterdir())]


def trials():
    """Return the text of a small trials.jsonl."""
    return [
        "".join(
            records.encode(dict(TRIAL, id=f"b01-v01-c{number:03}")) for number in range(1, size)
        )
        for size in (3, 5)
    ]


def campaigns():
    """Return the campaigns that come with the collection, less their comments, and one that uses
    every key.
    """
    texts = [
        path.read_text(encoding="utf-8")
        for path in sorted((CHECKOUT / "playbooks/campaigns").glob("*.yml"))
    ]
    return [re.sub(r"(?m)^#.*\n", "", text) for text in texts] + [
        CAMPAIGN,
        "# A comment\n" + CAMPAIGN,
    ]


def through_file(read):
    """Return a parser of text for a reader of files; the file is in memory."""

    def parse(text):
        path = f"/dev/shm/offload-lab-fuzz-{os.getpid()}"
        with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as stream:
            stream.write(text)
        try:
            return read(path)
        finally:
            os.unlink(path)

    return parse


def read_campaign(path):
    """Read a campaign file to its end: YAML, schema, factors and workloads."""
    return campaign_file.read_campaign(chosen.load_campaign(path), path)


def record_rows(path):
    """Read trials, and each line alone."""
    good, bad = records.scan(path)
    return [record for _number, _line, record in good], [reason for _number, _line, reason in bad]


def way_in(text):
    """Find the devices that carry a connection in a listing of links."""
    return management.devices_of("192.0.2.1 1 198.18.0.1 22", ["veth0"], ip_json.parse_links(text))


# name: (parser, its samples)
PLAN = (
    '{"schema": 1, "name": "a", "design": "on_off", "blocks": 1, "control": "off", "factors": [], "profiles": {}, '
    '"paths": [], "mtus": [], "workloads": [], "untestable": {}, "visits": []}'
)

PARSERS = {
    "netperf": (parse_netperf, lambda: corpus("netperf")),
    "iperf3": (iperf3.rows, iperf3_texts),
    "sockets": (sockets.rows, lambda: [SOCKETS_STREAM, SOCKETS_REQUESTS]),
    "ethtool -k": (features.parse_features, lambda: corpus("ethtool_k")),
    "ethtool -l": (settings.parse_channels, lambda: corpus("ethtool_l")),
    "ethtool -g": (settings.parse_rings, lambda: corpus("ethtool_g")),
    "ethtool -c": (settings.parse_coalesce, lambda: corpus("ethtool_c")),
    "ethtool -n": (settings.parse_flow_hash, lambda: corpus("ethtool_n")),
    "ethtool -x": (settings.parse_rss, lambda: corpus("ethtool_x")),
    "ethtool -i": (settings.parse_driver, lambda: corpus("ethtool_i")),
    "ethtool -S": (settings.parse_statistics, lambda: corpus("ethtool_S")),
    "ethtool --show-tunnels": (settings.parse_tunnels, lambda: [TUNNELS]),
    "/proc/stat": (cpu.parse_stat, lambda: corpus("proc_stat")),
    "/proc/softirqs": (cpu.parse_softirqs, lambda: corpus("softirqs")),
    "OVS JSON": (tables.parse_tables, lambda: corpus("ovs_json")),
    "ovsdb-tool query": (tables.parse_query, lambda: [QUERY]),
    "ip -json": (ip_json.parse_links, lambda: [LINKS]),
    "ip -json -batch": (
        ip_json.parse_links_and_neighbors,
        lambda: [LINKS + "\n" + NEIGHBORS + "\n"],
    ),
    "ip -json (nodes)": (read_nodes.parse_links, lambda: [LINKS]),
    "ip -json (route)": (
        management.parse_route,
        lambda: ['[{"dst": "192.0.2.1", "dev": "eth0", "flags": []}]'],
    ),
    "way in": (way_in, lambda: [LINKS]),
    "mountinfo": (read_nodes.parse_mountinfo, lambda: [MOUNTS]),
    "trials.jsonl": (through_file(record_rows), trials),
    "snapshot.json": (
        through_file(snapshot.read),
        lambda: ['{"schema": 1, "devices": [], "links": [], "other": {}}'],
    ),
    "plan.json": (
        through_file(plan_file.read_plan),
        lambda: [PLAN],
    ),
    "campaign file": (through_file(read_campaign), campaigns),
}
