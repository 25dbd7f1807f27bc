# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of reproduce.sh: one file of shell and Python that needs no Ansible.

Each value becomes a word of the script through the one quoting function.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from itertools import chain

from ....module_utils._base.quoting import shell_line
from ....module_utils._engines.payload.result import CHECKS
from ..._untrusted.texts import comment
from .ends import OWN
from .features import DeviceFeature, EndSettings
from .namespaces import stand_ins
from .reproduction import Reproduction

FILE = "reproduce.sh"
PROTOCOLS = ("tcp", "udp")
PAIRS = 6
SECONDS_ONE = 1.5  # of a trial of one protocol and direction
SECONDS_EACH = 0.6  # where the script tries all of them
TEXTS = pathlib.Path(__file__).parents[1]  # the folder of the two texts that it puts together


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
