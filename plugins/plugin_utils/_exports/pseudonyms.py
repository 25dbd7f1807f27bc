# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign without its names: plan, manifest and trials in which names, addresses and free texts are
pseudonyms. Pure.

A text is kept only if this file knows it: it is a word of the schemas, a feature, or a version in the
place of a version. All others become pseudonyms, so an unknown field leaks nothing. A pseudonym has the
form of its original, so a report can be made of the result.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ...module_utils._engines.payload.result import COUNTS
from ...module_utils._engines.payload.traffic import COUNTERS, COUNTERS_6
from ...module_utils._ethtool.features import LEGACY
from ...module_utils._observe.reading import DROP_REASON
from .._campaign.campaign_file import campaign_schema
from .._campaign.nouns import AS_FOUND, MIXED, UNKNOWN, Plan
from .._campaign.schema import load_schema
from .._paths.lab_paths import LAB_PATHS
from .._store.manifest import Manifest
from .._trials import payload
from .._trials.drop_reasons import REASONS
from .._trials.nouns import Trial

SCHEMAS = ("plan", "manifest", "trial", "analysis")
FEATURE = re.compile(
    r"(?:tx|rx|generic|large|tcp|udp|scatter|receive|ntuple|highdma|hw|tls|esp|macsec|hsr|l2|vlan|fcoe|"
    r"loopback|netns)(?:[-_][a-z0-9]+)*\Z"
)
# Names that devices have on many hosts.
DEVICE = re.compile(
    r"(?:lo|eth\d+|eno\d+|ens\d+|enp\d+s\d+(?:f\d+)?(?:np\d+)?|bond\d+|br\d+|br-int|docker0|cni0|tunl0|"
    r"vxlan\.calico|flannel\.\d+|vxlan\d+|cilium_(?:vxlan|geneve|host|net)|host-veth\d+|underlay\d+)\Z",
    re.ASCII,
)
TRIAL = re.compile(r"m\d+-b\d+-v\d+-c\d+(?:-[a-z]{1,7}\d*)*\Z", re.ASCII)
NUMBER = re.compile(r"-?\d{1,5}(?:\.\d+)?\Z", re.ASCII)  # a longer one may be a serial number
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z\Z", re.ASCII)
# A part of a version behind its first numbers: no word that a company may have put there.
NUMBERS = re.compile(r"(?:[a-z]+ version )?\d{1,5}(?:\.\d{1,5})*", re.ASCII)
PART = re.compile(
    r"(?:\d{1,5}[a-z]?|v\d{1,4}|rc\d+|el\d+|fc\d*|deb\d+u\d+|0x[0-9a-f]{1,8}|amd64|arm64|x86|generic|cloud|"
    r"aws|azure|gcp|rt|pve|lts|standard|lowlatency)\Z",
    re.ASCII,
)
FOUR = re.compile(r"\d+\.\d+\.\d+\.\d+")  # an address, too
CUSTOM = "custom"
VERSIONS = ("kernel", "version", "firmware-version", "ethtool", "iproute2")
# Keys whose values are kept in one form.
FORMS = {
    "created": TIME,
    "driver": re.compile(r"[a-z][a-z0-9_]{0,20}\Z", re.ASCII),
    "architecture": re.compile(
        r"(?:x86_64|aarch64|armv\d\w?|riscv64|ppc64le|s390x|i\d86)\Z", re.ASCII
    ),
}
# Keys and values of a manifest and a trial that no schema names.
WORDS = """
    feature on off yes no vxlan geneve gre veth none system netdev internal patch cells channels current other maximum
    supported coalesce bus-info expansion-rom-version firmware-version supports-eeprom-access supports-priv-flags
    supports-register-dump supports-statistics supports-test version active fixed requested features features_wanted
    groups rings rss rx_flow_hash tunnels architecture clocksource command_line microcode mitigations model
    numa_nodes online smt notsupported kernel_build memory_kb sysctls tools ethtool iproute2 lines steering
    bridges datapath interfaces options other_config type checks user nice irq softirq iowait idle steal NET_RX NET_TX
    clock_error_s clock_offset_s governor performance powersave speed_mbps mtu check tsc kvm-clock
    trial chosen runner_up control search confirm answered named
""".split()  # noqa: SIM905 # as a list it has a line for each
SYSCTL = re.compile(r"(?:net|kernel|vm)(?:\.[a-z0-9_]+)+\Z", re.ASCII)
# A counter of drops: the kernel's reason, and one of its functions.
DROP = re.compile(rf"{DROP_REASON} (?:{'|'.join(REASONS)}) [a-z_][a-z0-9_.]{{2,60}}\Z", re.ASCII)
SIGNS = re.compile(r"[=,+ @]|^(?:no|only|not)_")  # between the words that a design makes a name of
DROPPED = ("raw", "stderr")  # what engines print; the numbers are in the trial
SHORTEST = 4  # characters; a shorter name may be in any text
Document = dict[str, Any]


def words_of(schema: Any) -> Iterator[str]:
    """Yield the keys and the values that a schema names."""
    if isinstance(schema, list):
        for part in schema:
            yield from words_of(part)
    elif isinstance(schema, dict):
        yield from schema.get("properties", ())
        yield from schema.get("required", ())
        yield from (word for word in schema.get("enum", ()) if isinstance(word, str))
        for part in schema.values():
            yield from words_of(part)


def vocabulary() -> set[str]:
    """Return the texts that every campaign may have."""
    schemas = [*map(load_schema, SCHEMAS), campaign_schema()]
    usual_words = set(chain.from_iterable(map(words_of, schemas)))
    usual_words.update(
        chain.from_iterable(LEGACY), (path.name for path in LAB_PATHS), WORDS, COUNTS
    )
    usual_words.update(filter(_is_text, vars(payload).values()))
    usual_words.update(COUNTERS_6, ("all_off", "all_on", "as_applied", AS_FOUND, MIXED, UNKNOWN))
    for table in COUNTERS.values():
        for protocol, names in table.items():
            usual_words.update(protocol + name for name in names)
    return usual_words


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _has_word(text: str, name: str) -> bool:
    """Return whether a text has a name that is no part of a longer word."""
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


class Pseudonyms:
    """Gives each text the same pseudonym each time, and remembers all of them."""

    def __init__(self) -> None:
        self.given: dict[str, dict[str, str]] = {}

    def of(self, kind: str, text: str) -> str:
        """Return the pseudonym of a text."""
        known = self.given.setdefault(kind, {})
        return known.setdefault(text, _made(kind, len(known) + 1))

    def listed(self) -> str:
        """Return how many texts of each kind were replaced, and by what. It has no original."""
        lines = ["The same text has the same pseudonym in all files of this archive."]
        for kind, texts in sorted(self.given.items()):
            names = list(texts.values())
            lines.append(f"{kind}: {len(names)} replaced, {names[0]} to {names[-1]}")
        return "\n".join(lines) + "\n"


def _made(kind: str, number: int) -> str:
    if kind == "IPv4":
        return str(ipaddress.IPv4Address("240.0.0.0") + number)
    if kind == "IPv6":
        return str(ipaddress.IPv6Address("2001:db8::") + number)
    return f"{kind}-{number}"


class Anonymous:
    """Makes the documents of one campaign anonymous."""

    def __init__(self, plan: Plan, manifest: Manifest | None) -> None:
        self.names = Pseudonyms()
        self.words = vocabulary()
        self.known: dict[str, str] = {}  # names that were learned, with their pseudonyms
        self._learn("campaign", plan["name"])
        nodes = (manifest.get("nodes") if manifest else None) or {}
        for node, states in nodes.items():
            self._learn("node", node)
            for state in states.values() if isinstance(states, dict) else ():
                self._learn_devices(state)
        self._learn_plan(plan)

    def _learn(self, kind: str, name: object) -> None:
        """Remember a name that is no word, and what stands for it."""
        if isinstance(name, str) and name and name not in self.known:
            is_device = kind == "device" and DEVICE.match(name)
            kept = name in self.words or is_device or (kind == "setting" and FEATURE.match(name))
            self.known[name] = name if kept else self.names.of(kind, name)

    def _learn_devices(self, conditions: object) -> None:
        if not isinstance(conditions, dict):
            return
        classes = chain.from_iterable((conditions.get("classes") or {}).values())
        for key in [*conditions.get("devices", ()), *conditions.get("links", ()), *classes]:
            netns, _slash, device = key.rpartition("/")
            self._learn("device", device)
            self._learn("netns", netns)

    def _learn_plan(self, plan: Plan) -> None:
        for pair in plan.get("pairs") or ():
            self._learn("node", pair["client"])
            self._learn("node", pair["server"])
        if "forwarder" in plan:
            self._learn("node", plan["forwarder"]["host"])
        for name in plan["paths"]:
            self._learn("path", name)
        for factor in plan["factors"]:
            self._learn("setting", factor["name"].partition("@")[0])
            self._learn("setting", factor["name"])
        for load in plan["workloads"]:
            self._learn("workload", load["name"])
        for name in plan["profiles"] if plan["design"] == "profiles" else ():
            self._learn("profile", name)

    def see(self, trial: Trial) -> None:
        """Learn the names in a trial."""
        for end in ("client", "server", "forwarder"):
            self._learn("node", trial.get(end))
        pair = str(trial.get("pair") or "")
        nodes = [self.word(str(trial.get(end))) for end in ("client", "server")]
        self.known.setdefault(pair, "-".join(nodes))
        for stream in trial.get("streams") or ():
            self._learn("netns", stream.get("netns"))

    def word(self, text: str) -> str:
        """Return a text, or its pseudonym."""
        if text in self.known:
            return self.known[text]
        parts = SIGNS.split(text)
        if all(map(self._is_word, parts)) or DEVICE.match(text) or TRIAL.match(text):
            return text
        return self._address(text) or self._joined(text) or self.names.of("text", text)

    def _is_word(self, part: str) -> bool:
        is_known = part in self.words or FEATURE.match(part) or NUMBER.match(part)
        return not part or (bool(is_known) and self.known.get(part, part) == part)

    def _address(self, text: str) -> str:
        try:
            return self.names.of(f"IPv{ipaddress.ip_address(text).version}", text)
        except ValueError:
            return ""

    def _joined(self, text: str) -> str:
        """Return the pseudonym of ``netns/device``, where one of them is known."""
        netns, _slash, device = text.rpartition("/")
        if netns in self.known and (device in self.known or DEVICE.match(device)):
            return f"{self.known[netns]}/{self.word(device)}"
        return ""

    def document(self, value: Any, key: str = "") -> Any:
        """Return a JSON document without what may say who or where."""
        if isinstance(value, dict):
            return {self._key(name): self.document(part, name) for name, part in value.items()}
        if isinstance(value, list):
            return [self.document(part, key) for part in value]
        return self._text(value, key) if isinstance(value, str) else value

    def _text(self, text: str, key: str) -> str:
        if key in DROPPED:
            return ""
        if key in VERSIONS and NUMBERS.match(text) and not FOUR.search(text):
            return self._version(text)
        is_kept = key in FORMS and FORMS[key].match(text) and not self._has_name(text)
        return text if is_kept else self.word(text)

    def _key(self, name: str) -> str:
        is_kernels = SYSCTL.match(name) or DROP.match(name)
        return name if is_kernels and not self._has_name(name) else self.word(name)

    def _version(self, text: str) -> str:
        """Return a version without what its maker has added."""
        numbers = NUMBERS.match(text)
        begin = numbers.group() if numbers else ""
        parts = list(filter(None, re.split(r"[-+~._, ()]", text[len(begin) :])))
        if all(map(PART.match, parts)) and not self._has_name(text):
            return text
        return f"{begin}-{CUSTOM}"

    def _has_name(self, text: str) -> bool:
        return any(name in text for name, given in self.known.items() if given != name)

    def left(self, text: str) -> list[str]:
        """Return the originals that a text still has."""
        return [name for name in self._originals() if _has_word(text, name)]

    def _originals(self) -> Iterator[str]:
        for kind, texts in self.names.given.items():
            if kind != "text":
                yield from (name for name in texts if len(name) >= SHORTEST)
