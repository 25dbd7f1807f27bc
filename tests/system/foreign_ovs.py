# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open vSwitch of a node that others use too: a bridge of theirs, and all that the database has of
theirs.
"""

from __future__ import annotations

import json
from operator import itemgetter

OURS = "userspace-tso-enable"  # the lab's key of other_config; teardown removes it
COUNTERS = ("statistics", "status")
FOREIGN = [
    "add-br",
    "br-ex",
    "--",
    "set",
    "Bridge",
    "br-ex",
    "datapath_type=netdev",
    "other_config:hwaddr=02:00:00:00:00:07",
    "--",
    "add-port",
    "br-ex",
    "vxlan-neutron",
    "--",
    "set",
    "Interface",
    "vxlan-neutron",
    "type=vxlan",
    "options:remote_ip=198.18.9.9",
    "options:key=77",
    "options:dst_port=8472",
]


def make(lab):
    """Make a bridge of somebody else on node 1, with a tunnel."""
    lab.inside(1, "ovs-vsctl", *FOREIGN)


def remove(lab):
    """Remove it, and end the daemons, which teardown has left running for it."""
    lab.inside(1, "ovs-vsctl", "del-br", "br-ex")
    lab.inside(1, "/usr/share/openvswitch/scripts/ovs-ctl", "stop")


def dump(lab):
    """Return all that the database of node 1 has of others, as text."""
    documents = []
    decoder = json.JSONDecoder()
    text = lab.inside(
        1,
        "ovs-vsctl",
        "--format=json",
        "list",
        "Open_vSwitch",
        "--",
        "list",
        "Bridge",
        "--",
        "list",
        "Port",
        "--",
        "list",
        "Interface",
    )
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        documents.append([dict(zip(document["headings"], row)) for row in document["data"]])
        text = text.lstrip()[end:]
    root, *tables = documents
    config = [pair for pair in root[0]["other_config"][1] if pair[0] != OURS]
    foreign = [
        {column: value for column, value in row.items() if column not in COUNTERS}
        for rows in tables
        for row in sorted(rows, key=itemgetter("name"))  # else in the order of a hash table
        if row["name"] in ("br-ex", "vxlan-neutron")
    ]
    return json.dumps([config, foreign], indent=1, sort_keys=True)


def set_by_hand(lab, value):
    """Set a key of other_config and an option of a port, as an administrator does, and return the
    dump.
    """
    lab.inside(
        1,
        "ovs-vsctl",
        "set",
        "Open_vSwitch",
        ".",
        f"other_config:max-idle={value}",
        "--",
        "set",
        "Interface",
        "vxlan-neutron",
        f"options:tos={value % 64}",
    )
    return dump(lab)
