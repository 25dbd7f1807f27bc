# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reference pages made from the code: every variable of every role, and every factor."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Iterator

import yaml

from ansible_collections.offload.lab.plugins.module_utils._ethtool.features import LEGACY
from ansible_collections.offload.lab.plugins.module_utils._kinds.kinds import KINDS
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.verdicts import PROOFS

CHECKOUT = Path(__file__).resolve().parents[2]
SHARES = {
    "super_share": "share of bytes in packets longer than the MTU",
    "tunnel_super_share": "share of bytes in tunnelled packets longer than the MTU",
    "csum_not_ready_share": "share of bytes whose checksum is not filled in yet",
    "csum_valid_share": "share of bytes whose checksum was already checked",
}
WAYS = {"out": "outgoing", "in": "incoming"}
FEATURES = {
    "rx-checksumming": "checks the checksums of received packets on the card",
    "tx-checksumming": "leaves checksums of sent packets to the card; TSO and GSO of TCP need it",
    "scatter-gather": "sends a packet from several pieces of memory; TSO needs it",
    "tcp-segmentation-offload": "hands the card TCP data of up to 64 KB, which it cuts into packets",
    "generic-segmentation-offload": "keeps data together through the stack and cuts it in software before the driver",
    "generic-receive-offload": "merges received packets of one stream before the stack sees them",
    "large-receive-offload": "merges them on the card; must be off where packets are forwarded or bridged",
    "rx-vlan-offload": "takes the VLAN tag off on the card",
    "tx-vlan-offload": "puts the VLAN tag on on the card",
    "ntuple-filters": "lets rules of `ethtool -N` choose the receive queue",
    "receive-hashing": "hands the stack the card's hash of a packet; RPS uses it",
    "udp-fragmentation-offload": "hands the card large UDP data; gone from the kernel since 4.14",
}


def _text(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def _default(option: dict[str, Any]) -> str:
    if option.get("required"):
        return "required"
    return f"`{option['default']}`" if option.get("default") not in (None, "") else ""


def _options(options: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, option in options.items():
        kind = option.get("type", "str") + (
            f" of {option['elements']}" if "elements" in option else ""
        )
        about = _markdown(_text(option.get("description", "")))
        if option.get("choices"):
            about += f" One of {', '.join(f'`{choice}`' for choice in option['choices'])}."
        yield f"| `{prefix}{name}` | {kind} | {_default(option)} | {about} |"
        yield from _options(option.get("options") or {}, f"{prefix}{name}.")


def _markdown(text: str) -> str:
    """Return Ansible's markup as Markdown, on one line of a table."""
    for mark in "CVOIMBE":
        while f"{mark}(" in text:
            start = text.index(f"{mark}(")
            end = text.find(")", start)
            text = f"{text[:start]}`{text[start + 2 : end]}`{text[end + 1 :]}"
    return text.replace("|", "\\|").replace("\n", " ")


def variables() -> str:
    """Return the page of all role variables."""
    lines = [
        "# Variables of the roles",
        "",
        "From the roles' argument specifications, which refuse what is not here.",
    ]
    for path in sorted(CHECKOUT.glob("roles/*/meta/argument_specs.yml")):
        merged: dict[str, Any] = {}
        specs = yaml.safe_load(path.read_text())["argument_specs"]
        for spec in specs.values():
            merged.update(spec.get("options") or {})
        if not specs:
            continue
        lines += [
            "",
            f"## {path.parts[-3]}",
            "",
            _markdown(next(iter(specs.values()))["short_description"]) + ".",
            "",
            "| variable | type | default | |",
            "| --- | --- | --- | --- |",
            *_options(merged),
        ]
    return "\n".join(lines) + "\n"


def _proof(*names: str) -> str:
    for pattern, way, share in PROOFS:
        if any(fnmatchcase(name, pattern) or fnmatchcase(pattern, name) for name in names):
            return f"{WAYS[way]} packets: {SHARES[share]}"
    return "read back alone"


def factors() -> str:
    """Return the page of all kinds of factors, and of the features that have a name of their own."""
    lines = [
        "# Factors",
        "",
        "What a campaign can vary. A name of `ethtool -k` is enough for a feature.",
        "",
        "| kind | what it does | where it is found | levels by default | devices by default |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, kind in KINDS.items():
        levels = ", ".join(f"`{level}`" for level in kind.levels or ()) or "to be given"
        devices = (
            ", ".join(f"`{name}`" for name in kind.devices or ()) or "the classes of the paths"
        )
        lines.append(f"| `{name}` | {kind.about} | {kind.availability} | {levels} | {devices} |")
    lines += [
        "",
        "## Features",
        "",
        "The legacy names, short and long. Any other name that is listed works too. "
        "`tx-udp_tnl-segmentation` is TSO inside a tunnel without an outer checksum, "
        f"`tx-udp_tnl-csum-segmentation` inside one with it; {_proof('tx-udp_tnl-segmentation')} prove them.",
        "",
        "| short | long | kernel's bits | what it does | what proves it |",
        "| --- | --- | --- | --- | --- |",
    ]
    for short, long, pattern in LEGACY:
        about = FEATURES.get(long, "see `ethtool`(8)")
        lines.append(f"| `{short}` | `{long}` | `{pattern}` | {about} | {_proof(long, pattern)} |")
    return "\n".join(lines) + "\n"


PAGES = {"variables.md": variables, "factors.md": factors}
