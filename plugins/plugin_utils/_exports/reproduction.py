# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reproduce.sh tries of a broken path, from the plan, the finding and the trials: as little as
shows the fault.

The text of reproduce.sh: one file of shell and Python that needs no Ansible.

Each value becomes a word of the script through the one quoting function.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from ...module_utils._base.quoting import shell_line
from ...module_utils._engines.payload.result import CHECKS
from .._analysis.blame import holds
from .._analysis.cure import at, varied
from .._analysis.result import Blame, PathFinding
from .._campaign.nouns import AS_FOUND, Plan
from .._campaign.plan_file import paths_of
from .._store.manifest import Manifest
from .._trials.nouns import Trial
from .._trials.payload import CHECKSUMS, RECEIVERS, Checks, Tally, missing
from .._untrusted.texts import comment
from .reproduction_ends import (
    OWN,
    DeviceFeature,
    EndSettings,
    ends_of,
    layers_of,
    settings_of_ends,
    stand_ins,
)

FEWEST_SIGNS = 1.0  # of trouble in a trial, for a protocol and direction to be the one
LARGEST = 65000  # bytes of the smallest message
HEADS = 12 - 8  # bytes by which a datagram of the campaign begins with a longer head
FILE = "reproduce.sh"
PROTOCOLS = ("tcp", "udp")
PAIRS = 6
SECONDS_ONE = 1.5  # of a trial of one protocol and direction
SECONDS_EACH = 0.6  # where the script tries all of them
TEXTS = pathlib.Path(__file__).parent  # the folder of the two texts that it puts together


class Reproduction(NamedTuple):
    """What the script tries."""

    campaign: str
    path: str
    kind: str  # what was wrong
    kinds: list[str]  # protocols and directions
    least: int  # bytes of the smallest message
    rate: float  # Mbit/s, 0 for no limit
    port: int
    mtu: int
    nodes: tuple[EndSettings, EndSettings]
    layers: str  # of the script's own namespaces: "none", "vxlan", "bridge", or "card"
    why_not: str  # why the script has no own namespaces


def reproduction(
    plan: Plan,
    row: PathFinding,
    checks: Checks,
    manifest: Manifest | None,
    trials: Iterable[Trial],
) -> Reproduction | None:
    """Return what a script can try; None where no feature is to blame, or where the two nodes have no
    device, address or name that a script may hold.
    """
    blames = [blame for blame in row.blames if AS_FOUND not in blame.settings]
    ends = ends_of(row, trials)
    if not blames or not row.off or ends is None or manifest is None:
        return None
    settings = settings_of_ends(plan, row, blames[0], ends, manifest)
    if settings is None:
        return None
    kinds, least = _shrunk(plan, row, blames[0], checks)
    layers, why_not = layers_of(paths_of(plan).named(row.path), settings)
    return Reproduction(
        campaign=plan["name"],
        path=row.path,
        kind=row.kind,
        kinds=kinds,
        least=least,
        rate=ends.rate,
        port=ends.port,
        mtu=row.mtu,
        nodes=settings,
        layers=layers,
        why_not=why_not,
    )


# How much


def _shrunk(plan: Plan, row: PathFinding, blame: Blame, checks: Checks) -> tuple[list[str], int]:
    """Return the protocol and direction that break most, or all, and the smallest message."""
    profiles = varied(at(checks.whole(), (row.path, row.mtu)))
    under = [
        tally
        for name, tally in profiles.items()
        if holds(plan, blame.settings, plan["profiles"][name]["levels"])
    ]
    without = [tally for tally in profiles.values() if tally not in under]
    signs = {name: _signs(under, name) - _signs(without, name) for name in CHECKS}
    name = max(signs, key=lambda check: signs[check])
    if signs[name] < FEWEST_SIGNS:
        return list(CHECKS), 1
    return [name], _least(under, name)


def _signs(tallies: Iterable[Tally], name: str) -> float:
    """Return how many signs of trouble a protocol and direction has in a trial, on average."""
    total = 0.0
    trials = 0
    for tally in tallies:
        trials += tally["trials"]
        check = tally["whole"]["checks"].get(name)
        if check:
            total += check["wrong"] + check["short"] + check["stalled"] + check["segments_lost"]
            total += missing(tally["whole"], name) + _refused(tally, name)
    return total / trials if trials else 0.0


def _refused(tally: Tally, name: str) -> int:
    """Return how many packets of a protocol the receiving end refused for their checksums."""
    protocol, _sign, direction = name.partition("_")
    gained = tally["whole"]["counters"].get(RECEIVERS[direction], {})
    return sum(gained.get(sign, 0) for sign in CHECKSUMS if sign.lower().startswith(protocol))


def _least(tallies: Iterable[Tally], name: str) -> int:
    """Return the size of the smallest message that arrived wrong, 1 where none did."""
    examples = [tally["whole"]["checks"][name]["first"] for tally in tallies if _has(tally, name)]
    sizes = [example["size"] for example in examples if example]
    least = min(sizes, default=1) + (HEADS if sizes and name.startswith("udp") else 0)
    return max(1, min(least, LARGEST))


def _has(tally: Tally, name: str) -> bool:
    return name in tally["whole"]["checks"]


def script(tried: Reproduction) -> str:
    """Return the text of reproduce.sh."""
    parts = {
        "ABOUT": "\n".join(f"# {line}" for line in _about(tried)),
        "VALUES": "\n".join(_values(tried)),
        "PROGRAM": program(tried.kinds),
    }
    text = (TEXTS / "reproduce.sh.in").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@@{name}@@", part, 1)
    return text


def program(kinds: Iterable[str] = CHECKS) -> str:
    """Return the program of a node for some protocols, without the head of its file."""
    text = (TEXTS / "reproduce_node.py").read_text(encoding="utf-8")
    text = text[text.index('"""') :].rstrip()
    for protocol in PROTOCOLS:
        if not any(kind.startswith(protocol) for kind in kinds):
            text = _without(text, protocol)
    return text


def _without(text: str, protocol: str) -> str:
    """Return the program without the part of a protocol."""
    begin = text.index(f"# {protocol}: ")
    last = f'PARTS["{protocol}", "receive"] = receive_{protocol}\n'
    return text[:begin] + text[text.index(last) + len(last) :].lstrip("\n")


def _about(tried: Reproduction) -> list[str]:
    """Return what the script shows, as comments."""
    lines = [
        f"Reproduce a fault of an offload without Ansible: {comment(tried.kind)},",
        f"over path {comment(tried.path)} at MTU {tried.mtu}. It breaks with",
    ]
    for number, node in enumerate(tried.nodes, 1):
        for feature in node.cured:
            where = "" if feature.netns == OWN else f" in namespace {feature.netns}"
            lines.append(f"    HOST{number}: {feature.name} of {feature.device}{where} on")
    lines.append(f"Written by offload.lab from campaign {comment(tried.campaign)}.")
    return lines


def _values(tried: Reproduction) -> list[str]:
    """Return the lines that give the script its values."""
    each = SECONDS_ONE if len(tried.kinds) == 1 else SECONDS_EACH
    lines = [
        _assigned("KINDS", tried.kinds) + "  # forward is from HOST1 to HOST2",
        _assigned("LEAST", [tried.least]) + "  # bytes of the smallest message",
        _assigned("RATE", [f"{tried.rate:g}"]) + "  # Mbit/s, 0 for no limit",
        _assigned("PAIRS", [PAIRS]) + "  # of trials, at most",
        _assigned("SECONDS_EACH", [each]) + "  # of a trial",
        _assigned("PORT", [tried.port]) + "  # of TCP and UDP, at both ends",
        _assigned("LAYERS", [tried.layers]) + "  # of --namespaces",
        _assigned("WHY_NOT", [tried.why_not] if tried.why_not else []),
        _assigned("MTU", [tried.mtu]),
        "# Features: NETNS DEVICE FEATURE VALUE, several times. The namespace - is the one of the host.",
    ]
    lines += _of_nodes(tried.nodes)
    if tried.layers != "card":
        ours = [f"    {line}" for line in _of_nodes(stand_ins(tried.layers, tried.nodes))]
        lines += ['if [ "${1-}" = --namespaces ]; then', *ours, "fi"]
    features = sum(len(node.cured) for node in tried.nodes)
    return [*lines, _assigned("SEVERAL", ["yes" if features > 1 else "no"])]


def _assigned(name: str, words: Iterable[object]) -> str:
    """Return an assignment of words to a variable, quoted."""
    return f"{name}={shell_line([' '.join(map(str, words))])}"


def _of_nodes(nodes: Iterable[EndSettings]) -> list[str]:
    lines: list[str] = []
    for number, node in enumerate(nodes, 1):
        devices = dict.fromkeys(feature[:2] for feature in [*node.broken, *node.cured])
        lines += [
            _assigned(f"NETNS{number}", [node.netns]),
            _assigned(f"ADDRESS{number}", [node.address]),
            _assigned(f"DEVICES{number}", chain.from_iterable(devices)),
            _assigned(f"BROKEN{number}", _words(node.broken)),
            _assigned(f"CURED{number}", _words(node.cured)),
        ]
    return lines


def _words(features: Iterable[DeviceFeature]) -> list[str]:
    return list(chain.from_iterable(feature[:4] for feature in features))
