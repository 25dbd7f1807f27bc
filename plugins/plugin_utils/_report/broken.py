# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report says of payload whose content was checked: a line a path, broken ones first.

Of a dead path it also says where packets were last seen. Each end has sent datagrams to the other one
before the campaign, as the hosts were found, and has counted what it sent, what arrived, and what its
devices passed (manifest.json, ``exchanges``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ...module_utils._preflight.exchanged import Exchange
from .._analysis.blame import condition_text
from .._analysis.integrity import finding, hops_of, known_cases_of
from .._analysis.result import AsFound, Blame, Hop, PathFinding, PathVerdict, PayloadFindings
from .._campaign.nouns import AS_FOUND, Plan
from .._exports.recommended import drivers, kernels
from .._known_cases.known_cases import KnownCase, KnownHost
from .._statistics import text
from .._store.manifest import Manifest, all_before
from .._trials.payload import Checks, reasons_of
from .nouns import Sentence
from .phrases import line

WAYS = {"forward": ("client", "server"), "reverse": ("server", "client")}
OVERFLOWS = (
    " An overflowing queue does this, and so does a rare fault: more blocks would show which."
)
MOST_KNOWN = 4  # cases in a line
ELSEWHERE = ("broken without", "broken everywhere")  # the cause is none of the offloads
SIGNS = {
    "broken": "worse",
    "broken everywhere": "worse",
    "broken without": "worse",
    "suspect": "unknown",
    "lossy": "unknown",
    "clean": "same",
}
NAMES: dict[str, Literal["ping", "tcp"]] = {"ping": "ping", "TCP": "tcp"}
SEEN = 0.5  # the share of the sent datagrams that a device has passed at least: others use it, too


def hosts_of(manifest: Manifest | None) -> list[KnownHost]:
    """Return drivers and kernel of each node, for the cases that are known, and its exchanges."""
    releases = kernels(manifest)
    exchanges = exchanges_of(manifest)
    return [
        KnownHost(
            list(filter(None, devices.values())),
            releases.get(node, ""),
            node,
            exchanges.get(node, []),
        )
        for node, devices in drivers(manifest).items()
    ]


def findings(
    plan: Plan, checks: Checks, verdicts: Iterable[PathVerdict], hosts: Sequence[KnownHost]
) -> list[PathFinding]:
    """Return the verdicts of the paths with their sentences, what is broken first."""
    paths: list[PathFinding] = []
    for row in sorted(verdicts, key=lambda row: list(SIGNS).index(row.verdict)):
        cases = known_cases_of(plan, row, hosts)
        sentence = WORDS[row.verdict](row) + _hop(plan, row, checks) + _known(cases)
        if row.troubled:
            sentence += _dropped(row, checks)
        if row.verdict in ELSEWHERE:
            sentence += sentences(row.path, {host.node: host.exchanges for host in hosts})
        paths.append(finding(plan, row, checks, cases, sentence))
    return paths


def first_and_last(payload: PayloadFindings | None) -> tuple[list[Sentence], list[Sentence]]:
    """Return the lines that come first, and the lines of clean paths."""
    clean = list[Sentence]()
    first = list[Sentence]()
    for row in payload.paths if payload else ():
        sentence = line(SIGNS[row.verdict], row.text)
        (clean if sentence["tone"] == "same" else first).append(sentence)
    return first, clean


def _where(row: PathVerdict) -> str:
    return f"over {row.path} at MTU {row.mtu}"


def _broken(row: PathVerdict) -> str:
    blames = "; of the other profiles, ".join(map(_blamed, row.blames))
    advice = f"switch {text.listed(row.off)} off" if row.off else "leave all of them on"
    if _is_as_found(row):
        advice = "set all of them on, at all of these devices"
    return f"Broken {_where(row)}: {blames}; {advice}.{_example(row)}{_as_found(row)}{_pings(row)}"


def _as_found(row: PathVerdict) -> str:
    """Say what the state of the hosts as found means for a broken path."""
    state = row.as_found
    if state is None or _is_as_found(row):
        return ""
    trials = f"{state.troubled} of {text.count(state.trials, 'trial')}"
    off = state.all_off
    if state.troubled:
        beside = "; all off is clean" if off.trials and not off.troubled else ""
        return f" As found it is broken: {trials} in trouble{beside}."
    if not state.cured:
        return f" As found {trials} were in trouble."
    return (
        f" As found it is clean ({trials} in trouble){_changed(state, row.off)}, but with "
        f"{text.listed(row.off)} on it is broken: the workaround is still needed."
    )


def _is_as_found(row: PathVerdict) -> bool:
    """Return whether no profile is broken, only the state in which the hosts are."""
    return any(AS_FOUND in blame.settings for blame in row.blames)


def _changed(state: AsFound, names: Sequence[str]) -> str:
    """Say which of these settings are off as found, everywhere or at a device."""
    off = [name for name in names if name in state.off]
    mixed = [name for name in names if name in state.mixed]
    parts = [f"{text.listed(off)} {_is(off)} off"] if off else []
    parts += [f"{text.listed(mixed)} {_is(mixed)} off at some devices"] if mixed else []
    return f" and {', '.join(parts)}" if parts else ""


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _not_needed(row: PathVerdict) -> str:
    """Say which settings are off as found although the path is clean with them on."""
    state = row.as_found
    if state is None or not state.off + state.mixed:
        return ""
    changed = _changed(state, [*state.off, *state.mixed]).removeprefix(" and ")
    return f" As found {changed}, and it is clean with all of them on, too: no workaround is needed here."


def _blamed(blame: Blame) -> str:
    under = blame.under
    without = blame.without
    return (
        f"{blame.kind} in {under.troubled} of {under.trials} trials with "
        f"{condition_text(blame.settings)}, in {without.troubled} of {without.trials} without "
        f"(p = {blame.p:.2g})"
    )


def _hop(plan: Plan, row: PathVerdict, checks: Checks) -> str:
    """Name the hop at which the path breaks, if the campaign shows it."""
    names = [" or ".join(map(_named, hops)) for hops in hops_of(plan, row, checks)]
    return f" The hop: {text.listed(list(dict.fromkeys(names)))}." if names else ""


def _named(hop: Hop) -> str:
    return f"{text.listed(hop.settings)} at the {hop.devices} of the {hop.side}"


def _dropped(row: PathVerdict, checks: Checks) -> str:
    """Say why and where packets of a path were lost, where the kernels tell."""
    here = [tally for where, tally in checks.whole().items() if where[:2] == (row.path, row.mtu)]
    return "".join(map(" {}.".format, reasons_of(here)))


def _known(cases: Sequence[KnownCase]) -> str:
    """Name the known cases that are like what is broken on a path, if there are any."""
    names = [f"{case.name} ({case.link})" for case in cases[:MOST_KNOWN]]
    return f" Reports like this: {text.listed(names)}." if names else ""


def _without(row: PathVerdict) -> str:
    what = "Broken" if row.messages else "Dead"
    return (
        f"{what} without these offloads too {_where(row)}: {row.kind} with every profile."
        f"{_example(row)}{_sizes(row)}{_pings(row)}{_elsewhere(row)}"
    )


def _elsewhere(row: PathVerdict) -> str:
    return _corrupted(row) or (
        " Look for the cause elsewhere: the path's MTU, the wire, the other end."
    )


def _corrupted(row: PathVerdict) -> str:
    """Say at which nodes packets arrive with wrong checksums, whatever is on or off."""
    nodes = [
        f"{node} ({arrived['packets']:,} packets in {arrived['trials']} of {row.trials} trials)"
        for node, arrived in sorted(row.corrupted.items())
    ]
    if not nodes:
        return ""
    return (
        f" Packets arrive at {text.listed(nodes)} with wrong checksums under every setting: the wire or "
        "a card corrupts them."
    )


def _everywhere(row: PathVerdict) -> str:
    return (
        f"Broken {_where(row)}: {row.kind} with every profile.{_example(row)} No profile had "
        "all offloads off, so it is not known whether an offload is the cause. Run playbook integrity."
    )


def _suspect(row: PathVerdict) -> str:
    return (
        f"Suspect {_where(row)}: {row.kind} in some of {row.trials} trials, too few to name "
        f"a setting.{_example(row)}{_corrupted(row) or ' Measure more blocks.'}"
    )


def _lossy(row: PathVerdict) -> str:
    return (
        f"Packets are lost {_where(row)}: {row.kind} in {row.troubled} of {row.trials} "
        f"trials, and no setting was shown to be the cause.{_corrupted(row) or OVERFLOWS} Nothing arrived wrong."
    )


def _clean(row: PathVerdict) -> str:
    trials = text.count(row.trials, "trial")
    arrived = f"all {row.messages:,} messages of {trials} arrived as sent"
    if row.lost:
        arrived = (
            f"{row.messages - row.lost:,} of {row.messages:,} messages of {trials} arrived "
            f"as sent, and {row.lost} were lost, no more than busy CPUs lose"
        )
    return f"Clean {_where(row)}: {arrived}.{_bound(row)}{_not_needed(row)}"


def _bound(row: PathVerdict) -> str:
    """State the bounds of the setting that is known least."""
    if not row.bounds:
        return ""
    messages = max(row.bounds, key=lambda bound: bound.messages)
    trials = max(bound.trials for bound in row.bounds)
    return (
        f" With 95 % confidence, with any one of these settings on, fewer than 1 in "
        f"{math.floor(1 / messages.messages):,} messages arrives wrong (least is known of "
        f"{messages.setting}), and fewer than {math.ceil(100 * trials)} % of the trials are in trouble."
    )


def _sizes(row: PathVerdict) -> str:
    """Say which packets arrive, if the path loses larger ones and no ICMP message reports it."""
    texts = []
    for name, (sender, receiver) in WAYS.items():
        size = row.sizes.get(name)
        if size:
            texts.append(
                f" From {sender} to {receiver} packets of {size['largest']:,} bytes arrive. "
                f"Packets of {size['mtu']:,} bytes do not, and no ICMP message reports it: a black hole."
            )
    return "".join(texts)


def _pings(row: PathVerdict) -> str:
    """Say what ping shows of a path on which payload is in trouble: often nothing."""
    if row.pings is None:
        return ""
    if row.pings["large"]:
        return (
            " Ping does not show it: it was answered in every trial, also at the size of the MTU."
        )
    if row.pings["small"]:
        return " A small ping was answered in every trial, one of the MTU's size was not."
    return ""


def _example(row: PathVerdict) -> str:
    if not row.first:
        return ""
    size = row.first["size"]
    offset = row.first["offset"]
    return f" The smallest message that arrived wrong has {size:,} bytes, from byte {offset:,} on."


WORDS = {
    "broken": _broken,
    "broken everywhere": _everywhere,
    "broken without": _without,
    "suspect": _suspect,
    "lossy": _lossy,
    "clean": _clean,
}


def exchanges_of(manifest: Manifest | None) -> dict[str, list[Exchange]]:
    """Return by node what it has recorded."""
    nodes = all_before(manifest)
    return {node: before.get("exchanges") or [] for node, before in nodes.items()}


def sentences(path: str, by_node: Mapping[str, Sequence[Exchange]]) -> str:
    """Return what was tried on a path as the hosts were found, and where packets were last seen; an
    empty text where everything passed or nothing was tried.
    """
    rows = _not_passed(path, by_node)
    if not rows:
        return ""
    ways = "".join(_one_way(node, exchange, by_node) for node, exchange in rows)
    return f" As found, {_what_passed([exchange for _node, exchange in rows])} passed.{ways}"


def _not_passed(path: str, by_node: Mapping[str, Sequence[Exchange]]) -> list[tuple[str, Exchange]]:
    """Return each node with its record of a path on which ping or TCP did not pass."""
    rows: list[tuple[str, Exchange]] = []
    for node, exchanges in sorted(by_node.items()):
        of_path = [exchange for exchange in exchanges if exchange["path"] == path]
        rows += [
            (node, exchange) for exchange in of_path if not (exchange["ping"] and exchange["tcp"])
        ]
    return rows


def _what_passed(exchanges: Iterable[Exchange]) -> str:
    """Return in words what passed from at least one end."""
    records = list(exchanges)
    names = [name for name, key in NAMES.items() if any(exchange[key] for exchange in records)]
    return " and ".join(names) or "neither ping nor TCP"


def _one_way(node: str, sent: Exchange, by_node: Mapping[str, Sequence[Exchange]]) -> str:
    """Say what became of the datagrams that a node has sent."""
    peer = sent["peer"]
    there = _of(by_node.get(peer, []), sent["path"], node)
    way = f" From {node} to {peer}"
    if not sent["sent"]:
        return f"{way} no datagram left: {node} has no route, or its own firewall refuses them."
    if there is None or not there["sent"]:
        return f"{way} {sent['sent']} datagrams were sent; {peer} did not count them."
    text = f"{way} {there['arrived']} of {sent['sent']} datagrams arrived"
    if there["arrived"] >= SEEN * sent["sent"]:
        return f"{text}."
    return f"{text}; {_last_device(node, sent, there)}."


def _of(exchanges: Iterable[Exchange], path: str, peer: str) -> Exchange | None:
    return next(
        (
            exchange
            for exchange in exchanges
            if (exchange["path"], exchange["peer"]) == (path, peer)
        ),
        None,
    )


def _last_device(node: str, sent: Exchange, there: Exchange) -> str:
    """Say at which device of the way the datagrams were last seen."""
    enough = SEEN * sent["sent"]
    way = [(node, record["device"], record["out"]) for record in sent["devices"]]
    way += [
        (sent["peer"], record["device"], record["back"]) for record in reversed(there["devices"])
    ]
    passed = [(host, device) for host, device, count in way if count >= enough]
    if not passed:
        return f"no device of {node} counted them"
    host, device = passed[-1]
    return f"they were last seen at {device} of {host}"
