# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A known case. case.py CASE FOLDER writes its campaign and its lab's variables into a folder, and prints the
fault of the lying network card. case.py CASE RESULTS cure prints the cure that was found, and fails where that
is not confirmed, or is not the reported one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.offload.lab.plugins.plugin_utils._known_cases.known_cases import (
    KnownCase,
    known_cases,
    with_groups,
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
        "until": "named",
        "control_visits": 1,
        "design": "integrity",
        "paths": ["physical"],
        "factors": FACTORS + more,
        "workloads": ["payload"],
        "duration": 3,
        "confirm": 0,
    }


def played(name: str) -> KnownCase:
    """Return the case of this name."""
    cases = {case.name: case for case in known_cases() if case.fault}
    if name not in cases:
        sys.exit(f"No case '{name}' that is played. Give CASE= one of: {' '.join(cases)}")
    return cases[name]


def write(name: str, folder: Path) -> None:
    """Write the two files, and print the fault."""
    case = played(name)
    folder.mkdir(parents=True, exist_ok=True)
    lab = IN_A_TUNNEL if case.encapsulations else {}
    for file, content in ((f"{name}.yml", campaign(case)), (f"{name}-lab.yml", lab)):
        (folder / file).write_text(yaml.safe_dump(content, sort_keys=False))
    print(f"Reported: {case.reported} Cure: {case.cure} {case.link}", file=sys.stderr)
    print(case.fault)


def show_cure(name: str, results: Path) -> None:
    """Print the cure of the newest campaign of a case; fail where it is not confirmed, or another one."""
    case = played(name)
    files = [*results.glob(f"{name}/analysis.json"), *results.glob(f"{name}-*/analysis.json")]
    newest = max(files, key=lambda file: file.stat().st_mtime)
    cure = (json.loads(newest.read_text()).get("payload") or {}).get("cure") or {"off": {}}
    settings = {switched.partition("_at_")[0] for switched in cure["off"]}
    switches = ", ".join(f"{switched} {value}" for switched, value in cure["off"].items())
    if not switches or not cure["confirmed"]:
        sys.exit(f"{name}: no cure is confirmed: {switches or 'none is found'}")
    if with_groups(settings).isdisjoint(case.settings):
        sys.exit(f"{name}: the cure {switches} is not the reported one: {' '.join(case.settings)}")
    print(f"{name}: the cure is confirmed in fresh trials: {switches}. Reported: {case.cure}")


if __name__ == "__main__":
    action = show_cure if sys.argv[3:] == ["cure"] else write
    action(sys.argv[1], Path(sys.argv[2]))
