# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What netperf prints around a result: banners, confidence, errors. Pure.

The forms come from print_top_test_header and display_confidence of netperf's sources.
"""

from __future__ import annotations

import re

from .scan import NOTES, Run, Scan

# A banner is "NAME TEST", then the addresses; a shell prompt may come before it on the line.
NAME = re.compile(
    r"(?:(TCP|UDP|UDPLITE|SCTP|DCCP|SDP|DG|DNS|STREAM|TCPIPV6|UDPIPV6|TIPC|XTI TCP|XTI UDP|DLPI CO|DLPI CL) "
    r"(1-TO-MANY )?(STREAM|MAERTS|SENDFILE|MSS|UNIDIRECTIONAL SEND|REQUEST/RESPONSE|Connect/Request/Response"
    r"|Connect/Close|Transactional/Request/Response)|(OMNI)(?: ([A-Za-z|]{1,30}))?)\Z"
)
LONGEST_NAME = 70
AFTER_NAME = re.compile(r" TEST(?= from\b| to\b| ?:| \(|\s*\Z)")
KINDS = {
    "UNIDIRECTIONAL SEND": "STREAM",
    "REQUEST/RESPONSE": "RR",
    "Connect/Request/Response": "CRR",
    "Connect/Close": "CC",
    "Transactional/Request/Response": "TRR",
}

LIMIT = re.compile(r"\+/-\s*(\d{1,6}\.\d{1,6})%\s*(?:@\s*)?\d\d% conf\.( on result only)?")
WIDTH = re.compile(r"(Throughput|Local CPU util|Remote CPU util)\s*:\s*(-?\d{1,12}\.\d{1,3})%")
QUANTITIES = {
    "Throughput": "throughput",
    "Local CPU util": "local_cpu",
    "Remote CPU util": "remote_cpu",
}

TROUBLE = re.compile(
    r"error|errno|fail|could ?n[o']t|cannot|no response|partial|refused|reset by|unreachable|unable"
    r"|too (?:long|small)|invalid option|requires an argument|not found|no route|timed? ?out|timeout"
    r"|denied|broken pipe|interrupted|are you sure",
    re.I,
)
# netperf names itself or one of its functions; captures are known that lost the first letter.
SPEAKER = re.compile(r"\s*(?:n?etperf: |[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+:? )")
# Without a banner only the way netperf names them shows that a function is one of its own.
OWN_SPEAKER = re.compile(
    r"\s*(?:n?etperf: |(?:s?end|r?ecv|u?dp|t?cp|s?ctp|c?reate|c?onnect|d?isconnect|c?lose|g?et"
    r"|s?et|a?lloc|a?llocate|a?ccept)_\w{1,40}: )"
)
# These come before a test begins, and end netperf: each is a run of its own.
START = re.compile(
    r"\s*(?:e?stablish control: |r?esolve_host: |c?omplete_addrinfo: |t?he test you requested \("
    r"|c?ould not open output selection file|N?etperf does not understand|\S{0,40}sh: .{0,60}netperf: "
    r"|n?etperf: (?:command )?not found)",
    re.I,
)
FOLLOW = re.compile(
    r"\s*(?:e?stablish_control could not|N?etperf could not resolve|getaddrinfo returned"
    r"|p?lease verify that|a?nd that test family|a?re you sure there is a netserver"
    r"|file must be larger)",
    re.I,
)
LAST = re.compile(
    r"\s*(?:e?stablish_control could not|N?etperf could not resolve|a?nd that test family|usage: netperf"
    r"|c?ould not open output selection file)",
    re.I,
)
USAGE = "Usage: netperf"
# Printed when everything is over, after the result.
AFTERWARDS = "hutdown_control"


def find_banner(text: str) -> tuple[str, str | None] | tuple[None, None]:
    """Return the test's name in a line that holds a banner, such as ``TCP_STREAM``, and its
    direction, if any.
    """
    for match in AFTER_NAME.finditer(text):
        name = NAME.search(text[max(0, match.start() - LONGEST_NAME) : match.start()])
        if name:
            family, many, kind, omni, direction = name.groups()
            return omni or test_name(family, many, kind), direction
    return None, None


def test_name(family: str, many: str | None, kind: str) -> str:
    """Return netperf's name of the test for ``-t`` from the words of its banner."""
    return "_".join((family.replace(" ", "_"), KINDS.get(kind, kind))) + ("_MANY" if many else "")


def read_banner(scan: Scan) -> bool:
    """Read a banner: it begins a run."""
    text = scan.text
    if " TEST" not in text:
        return False
    test, direction = find_banner(text)
    if test is None:
        return False
    early = scan.run
    run = scan.begin(test, banner=True)
    run.direction = direction
    if early is not None and early.failing and not early.banner and not early.ended:
        # What netperf writes to stderr can stand before the banner that waited in the buffer of
        # stdout.
        scan.runs.remove(early)
        run.line = early.line
        run.notes = early.notes
    set_limit(run, " ".join([text] + wrapped(scan)))
    scan.at += 1
    return True


def wrapped(scan: Scan) -> list[str]:
    """Return the next lines, in which a banner may go on that mail has wrapped."""
    lines = []
    for step in (1, 2):
        line = scan.ahead(step)
        if " TEST" in line or line.startswith("!!!"):
            break
        lines.append(line[:200])
    return lines


def set_limit(run: Run, text: str) -> None:
    """Take the confidence interval that a banner asks for."""
    match = LIMIT.search(text)
    if match:
        run.limit = float(match.group(1))
        run.result_only = bool(match.group(2))


def read_confidence(scan: Scan) -> bool:
    """Read a line of netperf's warning that the wanted confidence was not reached."""
    text = scan.text.lstrip()
    if not text.startswith("!!!"):
        return False
    run = scan.result_run()
    run.warned = True
    match = WIDTH.search(text)
    if match:
        run.widths[QUANTITIES[match.group(1)]] = float(match.group(2))
    scan.at += 1
    return True


def is_error(text: str) -> bool:
    """Return whether a line is an error message of netperf, or of the shell about it."""
    if START.match(text) or FOLLOW.match(text):
        return True
    return bool(SPEAKER.match(text) and TROUBLE.search(text) and AFTERWARDS not in text)


def failing_run(scan: Scan, text: str) -> Run | None:
    """Return the run that an error message belongs to, the open one or a new one, or None."""
    run = scan.run
    if run is not None and run.open and not START.match(text):
        return run
    begins = any(form.match(text) for form in (START, FOLLOW, OWN_SPEAKER))
    return scan.begin() if begins else None


def read_error(scan: Scan) -> bool:
    """Read an error message; without an open run it begins one."""
    text = scan.text[:400]
    run = scan.run
    if text.startswith(USAGE) and run is not None and run.failing:
        run.ended = True
    run = failing_run(scan, text) if is_error(text) else None
    if run is None:
        return False
    run.failing = True
    note(run, scan)
    if not run.banner and LAST.match(text):
        run.ended = True
    scan.at += 1
    return True


def note(run: Run, scan: Scan) -> None:
    """Keep a line that has no value: if the run has no result, the line may say why."""
    if len(run.notes) < NOTES:
        run.notes.append((scan.number, scan.text.strip()[:400]))


def reason(run: Run) -> str:
    """Return why a run without a result has none: netperf's own words where it said anything."""
    errors = [text for _number, text in run.notes if is_error(text)]
    if errors:
        return "; ".join(errors[:6])
    return "truncated before its result" + (f" ({run.notes[-1][1]})" if run.notes else "")


def read_other(scan: Scan) -> bool:
    """Keep a line of an open run that nobody else reads."""
    if scan.run is not None and scan.run.open and scan.text.strip():
        note(scan.run, scan)
    scan.at += 1
    return True
