# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the campaign and the lab's variables of a known case into a folder, and print the fault of the
lying network card: case.py CASE FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.offload.lab.plugins.plugin_utils._known_cases.known_cases import (
    KnownCase,
    known_cases,
)

# A VXLAN device of the kernel over the network card is the underlay: the lab's own tunnels are Open vSwitch's, whose
# userspace datapath leaves nothing to a card.
IN_A_TUNNEL = {
    "offload_lab_underlay_device": "tunnel0",
    "offload_lab_underlay_address": "198.18.128.{{ offload_lab_index }}",
    "offload_lab_underlay_prefix": 24,
    "offload_lab_underlay_mtu": 8950,
    "offload_lab_vxlan_port": 4790,
}
FACTORS: list[Any] = ["tx", {"name": "tso", "needs": ["tx"]}, "gro"]
UDP: Any = {"name": "tx-udp-segmentation", "needs": ["tx"]}


def campaign(case: KnownCase) -> dict[str, Any]:
    """Return a short campaign that asks what is broken."""
    more = [UDP] if UDP["name"] in case.settings else []
    return {
        "name": case.name,
        "seed": 1,
        "blocks": 4,
        "control_visits": 1,
        "design": "integrity",
        "paths": ["physical"],
        "factors": FACTORS + more,
        "workloads": ["payload"],
        "duration": 3,
        "confirm": 0,
    }


def main(name: str, folder: Path) -> None:
    """Write the two files, and print the fault."""
    cases = {case.name: case for case in known_cases() if case.fault}
    if name not in cases:
        sys.exit(f"No case '{name}' that is played. Give CASE= one of: {' '.join(cases)}")
    folder.mkdir(parents=True, exist_ok=True)
    case = cases[name]
    lab = IN_A_TUNNEL if case.encapsulations else {}
    for file, content in ((f"{name}.yml", campaign(case)), (f"{name}-lab.yml", lab)):
        (folder / file).write_text(yaml.safe_dump(content, sort_keys=False))
    print(f"Reported: {case.reported} Cure: {case.cure} {case.link}", file=sys.stderr)
    print(case.fault)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
