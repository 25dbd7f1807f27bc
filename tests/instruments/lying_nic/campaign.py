# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign of design integrity over a NIC that lies, without Ansible: the plan, the check and the
verdict come from the collection.

``python -m …lying_nic.campaign FAULT…`` prints a line for each fault: what the verdict is, what it
blames, what it would switch off, and how long it took.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import NamedTuple

from ansible_collections.offload.lab.plugins.plugin_utils._analysis import cure, integrity
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import (
    SERVER,
    VXLAN_SERVER,
    Nodes,
    checked,
    served,
)

ASKED = {
    "name": "lying",
    "design": "integrity",
    "paths": ["physical"],
    "mtus": [9000],
    "factors": [
        "tx",
        "rx",
        {"name": "tso", "needs": ["tx"]},
        {"name": "tx-udp-segmentation", "needs": ["tx"]},
        "gso",
        "gro",
    ],
    "workloads": ["payload"],
    "blocks": 4,
    "control_visits": 1,
    "duration": 4,
    "confirm": 0,
}
FAILED = {
    "result": {},
    "workload": {"test": "PAYLOAD"},
    "streams": [{"rc": 1}],
}


class Found(NamedTuple):
    """What a campaign says."""

    verdict: str
    blamed: list[dict[str, bool]]
    off: list[str]
    troubled: int
    trials: int
    seconds: float


def _check(nodes: Nodes, seconds: float, address: str) -> payload.Payload:
    """Return one check; one that ended with an error as a trial has it."""
    try:
        return checked(nodes, seconds, address)
    except subprocess.CalledProcessError:
        return payload.checked(FAILED)


def campaign(
    fault: str, name: str = "ol-fault", tunnel: bool = False, **overrides: object
) -> Found:
    """Run a campaign over a NIC with a fault; return what it says."""
    plan = make_plan(read_campaign({**ASKED, **overrides}), "2026-01-05T00:00:00Z")
    seconds = plan["workloads"][0]["duration"]
    checks = payload.Checks({}, {})
    began = time.monotonic()
    address = VXLAN_SERVER if tunnel else SERVER
    with Nodes(fault, name, tunnel) as nodes, served(nodes, address):
        for visit in plan["visits"]:
            levels = plan["profiles"][visit["profile"]]["levels"]
            nodes.ethtool(*(word for setting in levels.items() for word in setting))
            for cell in visit["cells"]:
                where = (cell["path"], visit["mtu"], visit["profile"])
                checks.see(where, None, _check(nodes, seconds, address))
    (row,) = integrity.verdicts(plan, checks)
    cure_found = cure.cure_of(plan, checks, {(row.path, row.mtu): row.blames})
    return Found(
        row.verdict,
        [blame.settings for blame in row.blames],
        cure_found.off if cure_found else [],
        row.troubled,
        row.trials,
        time.monotonic() - began,
    )


def main(faults: list[str]) -> None:
    """Print a line for each fault."""
    for fault in faults:
        result = campaign(fault)
        print(
            f"{fault}: {result.verdict} {result.blamed or ''} off: {', '.join(result.off) or '-'}; "
            f"{result.troubled} of {result.trials} trials, {result.seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
