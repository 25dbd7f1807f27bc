# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards: what makes a trial doubtful. Each gives marks; a mark that excludes keeps the trial out
of the analysis.

A mark is ``{"guard": name, "reason": text, "excludes": bool}``. A guard that lacks its data says
nothing. ``expected`` is what the lab should give: ``mss`` in bytes, ``speed_mbps`` of the line,
``vnis`` on the underlay, ``steal_limit`` in % of the CPU time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from statistics import median

from . import damage
from .cpu import TRAFFIC_SHARE
from .damage import costly
from .nouns import (
    NOTHING,
    EndCpu,
    Expected,
    Mark,
    Result,
    Trial,
    mark,
)

RETRANSMIT_SHARE = 0.01
STEAL_PERCENT = 2.0
USUAL_STEAL = 0.5  # % of the CPU time: below it a machine does not usually steal
STEAL_FACTOR = 2  # of what is usual
# before anything is called usual
STEAL_TRIALS = 8
STEAL_TRIALS_OF_PROFILE = 3
SATURATED_PERCENT = 95.0
LINE_RATE_SHARE = 0.94
ONE_CPU_SHARE = 0.95
STEAL_TICK = 0.01  # s: the kernel counts CPU time in these
OVERLAP_SHARE = 0.9
WHOLE_RUNS = "UDP_STREAM"  # whose rates are means of each stream's whole time
CLOCK_ERROR_SHARE = 0.01
ENGINE_BUSY = 0.9  # of a CPU; others on the machine take a part of it
ENGINE_OWN = 0.1  # of that, in its own code


def _result(trial: Trial) -> Result:
    return trial.get("result") or {}


def _ends(trial: Trial) -> Iterable[tuple[str, EndCpu]]:
    return ((trial.get("cpu") or NOTHING).get("ends") or {}).items()


def mss(trial: Trial, expected: Expected) -> Iterator[Mark]:
    """The maximum segment size is not the one that the path's MTU gives."""
    measured = _result(trial).get("mss")
    expected_mss = expected.get("mss")
    if measured and expected_mss and measured != expected_mss:
        yield mark(
            "mss", f"MSS is {measured} bytes, not the {expected_mss} that the path's MTU gives"
        )


def nothing_received(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The sender sent for the whole trial and nothing arrived: the path stood still."""
    result = _result(trial)
    if result.get("throughput_mbps") == 0 and not result.get("transactions_per_s"):
        yield mark("nothing_received", f"nothing arrived in {result.get('elapsed_s') or 0:.1f} s")


def retransmits(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """More than one segment in a hundred was retransmitted.

    Says so, excludes nothing: a profile may be the reason.
    """
    result = _result(trial)
    megabits = (result.get("throughput_mbps") or 0) * (result.get("elapsed_s") or 0)
    segments = result.get("retransmits")
    size = result.get("mss")
    if segments and size and megabits:
        share = segments * size * 8 / (megabits * 1e6)
        if share > RETRANSMIT_SHARE:
            yield mark(
                "retransmits",
                f"{segments} segments retransmitted, {share:.1%} of all",
                excludes=False,
            )


def confidence(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The confidence width that was asked for was not reached."""
    if _result(trial).get("confidence_met") is False:
        yield mark("confidence", "the confidence width asked for was not reached")


def stolen(trial: Trial) -> float | None:
    """Return the % of CPU time that the hypervisor took, of the end that lost most; None where no
    CPU was counted.
    """
    return max(
        (window.get("percent", {}).get("steal", 0) for _end, window in _ends(trial)), default=None
    )


class UsualSteal:
    """What the hypervisor takes as a rule, by profile, from the trials so far.

    A machine that always takes 5 % is not refused trial by trial: the limit is twice what is usual
    there. Each profile has its own usual, since one that needs more CPU loses more: the same
    moments are refused to all, and none is measured in quieter ones than another. What a quiet
    machine lets pass, each profile may lose anywhere: one that usually loses nothing would be
    refused for any loss.
    """

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self.seen: dict[str, list[float]] = {}
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """Take in one trial."""
        self.add_percent(trial.get("profile"), stolen(trial))

    def add_percent(self, profile: str, percent: float | None) -> None:
        """Take in what :func:`stolen` says of one trial."""
        if percent is not None:
            self.seen.setdefault(profile, []).append(percent)

    def limit(self, profile: str, floor: float = STEAL_PERCENT) -> float:
        """Return the limit for a trial of a profile, in %; ``floor`` where the machine does not
        usually steal.
        """
        everything = list(chain.from_iterable(self.seen.values()))
        usual = median(everything) if len(everything) >= STEAL_TRIALS else 0.0
        if usual < USUAL_STEAL:
            return floor
        percents = self.seen.get(profile, ())
        of_profile = median(percents) if len(percents) >= STEAL_TRIALS_OF_PROFILE else usual
        return max(floor, of_profile * max(STEAL_FACTOR, floor / usual))


def steal(trial: Trial, expected: Expected) -> Iterator[Mark]:
    """The hypervisor took more CPU time away than the campaign lets pass, or than it usually does."""
    limit = expected.get("steal_limit")
    limit = STEAL_PERCENT if limit is None else limit
    for end, window in _ends(trial):
        percent = window.get("percent", {}).get("steal", 0)
        if percent > limit and not (limit and _is_one_tick(window)):
            yield mark(
                "steal",
                f"{end}: the hypervisor took {percent:.1f} % of the CPU time, more than {limit:.1f} %",
            )


def _is_one_tick(window: EndCpu) -> bool:
    """Return whether the hypervisor took no more than the kernel's smallest count, one tick. In a
    quarter of a second on two CPUs a tick is 2 %, and what was taken may be much less.
    """
    cpus = window.get("cpus")
    if not cpus:
        return False
    return sum(seconds.get("steal", 0) for seconds in cpus.values()) < 1.5 * STEAL_TICK


def throttle(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """A CPU was throttled by heat."""
    for end, window in _ends(trial):
        if window.get("throttled"):
            yield mark(
                "throttle", f"{end}: CPUs were throttled by heat {window['throttled']} times"
            )


def saturation(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """A CPU was busy nearly all the time: throughput is then bound by the CPU.

    Says so, excludes nothing.
    """
    for end, window in _ends(trial):
        percents = window.get("busy_percent", {})
        busy = sorted(int(cpu) for cpu, percent in percents.items() if percent >= SATURATED_PERCENT)
        if busy:
            names = ", ".join(str(cpu) for cpu in busy)
            yield mark(
                "cpu_saturation",
                f"{end}: CPU {names} at least {SATURATED_PERCENT:.0f} % busy",
                excludes=False,
            )


def engine_limit(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The engine's own code was a good part of what one CPU did all the time. Says so, excludes
    nothing: it was so with each profile.
    """
    for end, cpu in sorted((_result(trial).get("engine_cpu") or {}).items()):
        busy = cpu["own"] + cpu["kernel"] if cpu else 0.0
        if cpu and busy >= ENGINE_BUSY and cpu["own"] >= ENGINE_OWN * busy:
            yield mark(
                "engine_limit",
                f"{end}: the engine's process needed {busy:.0%} of a CPU, {cpu['own']:.0%} for its "
                "own code: the engine, not the path, may be the limit",
                excludes=False,
            )


def zero_copy(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The kernel copied what was sent without copying, or did not report it as completed. Says so,
    excludes nothing: that is how the path is.
    """
    counts = _result(trial).get("zero_copy")
    if not counts or not counts["calls"]:
        return
    missing = counts["calls"] - counts["completed"]
    if counts["copied"] or missing > 0:
        yield mark(
            "zero_copy",
            f"of {counts['calls']} calls with zero_copy the kernel copied {counts['copied']}, and "
            f"did not complete {max(0, missing)}",
            excludes=False,
        )


def line_rate(trial: Trial, expected: Expected) -> Iterator[Mark]:
    """The line was full: a gain can only show in service demand. Says so, excludes nothing."""
    megabits = _result(trial).get("throughput_mbps")
    speed = expected.get("speed_mbps")
    if megabits and speed and megabits >= LINE_RATE_SHARE * speed:
        yield mark(
            "line_rate", f"{megabits:.0f} Mbit/s on a line of {speed} Mbit/s", excludes=False
        )


def one_cpu(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """One CPU alone took the packets in. Says so, excludes nothing."""
    for end, window in _ends(trial):
        counts = (window.get("softirqs") or {}).get("NET_RX", {})
        total = sum(counts.values())
        if len(counts) > 1 and total and max(counts.values()) >= ONE_CPU_SHARE * total:
            cpu = max(counts, key=lambda number: counts[number])
            yield mark(
                "softirq_one_cpu",
                f"{end}: CPU {cpu} handled {counts[cpu] / total:.0%} of NET_RX",
                excludes=False,
            )


def overlap(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The streams overlapped for less than 90 % of their time, and the engine reports no rates of an
    overlap that is long enough.
    """
    share = _result(trial).get("overlap")
    if share is not None and share < OVERLAP_SHARE and not _is_long_enough(trial):
        yield mark("overlap", f"the streams overlap for {share:.0%} of their time")


def _is_long_enough(trial: Trial) -> bool:
    """Return whether the rates are of a time in which all streams ran, and this time is long enough.

    What a stream does before the last one begins, or after the first one ends, is not counted then.
    """
    result = _result(trial)
    load = trial.get("workload") or {}
    duration = load.get("duration")
    if not duration or load.get("test") == WHOLE_RUNS or not result.get("window_measured"):
        return False
    return (result.get("window_s") or 0.0) >= OVERLAP_SHARE * duration


def cpu_window(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The CPU was counted while the traffic did not run: the trial has no CPU figures.

    Excludes nothing else.
    """
    share = (trial.get("cpu") or NOTHING).get("traffic_share")
    if share is not None and share < TRAFFIC_SHARE:
        yield mark(
            "cpu_window",
            f"the traffic ran in {share:.0%} of the time in which CPU was counted; no CPU figures",
            excludes=False,
        )


def clock(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The clocks of the two ends are not known well enough for one common window."""
    cpu = trial.get("cpu") or NOTHING
    window = min([end.get("window_s", 0) for _name, end in _ends(trial)] or [0])
    error = cpu.get("clock_error_s")
    if error and window and error > CLOCK_ERROR_SHARE * window:
        yield mark(
            "clock",
            f"the clocks agree only to within {error * 1000:.1f} ms, in a window of {window:.2f} s",
        )


def clock_jump(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The client's wall clock, by which netperf measures, was set while the trial ran."""
    if trial.get("clock_jump_s"):
        yield mark(
            "clock_jump",
            f"the client's clock was set by {trial['clock_jump_s']:.1f} s during the trial",
        )


def server_gone(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The server did not answer on its own node, so the trial says nothing of the path."""
    if trial.get("server_answers") is False:
        yield mark("server_gone", f"{trial['server']}: the engine's server did not answer there")


def interrupted(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """Another path stopped answering, and the switch has taken the profile back meanwhile."""
    if trial.get("interrupted"):
        yield mark(
            "interrupted",
            f"the node was restored, because another path stopped: {trial['interrupted']}",
        )


def features(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """A feature changed while the trial ran."""
    for end, changed in sorted(
        ((trial.get("cpu") or NOTHING).get("features_changed") or {}).items()
    ):
        yield mark(
            "feature_changed", f"{end}: features of {', '.join(changed)} changed during the trial"
        )


def programs(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """A BPF program of a device came or went while the trial ran."""
    for end, changed in sorted(
        ((trial.get("cpu") or NOTHING).get("programs_changed") or {}).items()
    ):
        yield mark("program_changed", f"{end}: a BPF program of {', '.join(changed)} came or went")


def profile(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The profile that was read back is not the one that was asked for."""
    settings = (trial.get("evidence") or NOTHING).get("settings") or {}
    for end, devices in sorted(settings.items()):
        for device, report in sorted(devices.items()):
            missed = sorted(report.get("not_honoured") or ())
            if missed:
                yield mark("profile", f"{end}: {device} did not take {', '.join(missed)}")


def encapsulation(trial: Trial, expected: Expected) -> Iterator[Mark]:
    """What was seen on the underlay is not what the path says: the wrong VNI, no tunnel, or one too
    many.
    """
    vnis = expected.get("vnis")
    for end, underlay in sorted(((trial.get("evidence") or NOTHING).get("underlay") or {}).items()):
        if vnis is not None and underlay.get("vnis", []) is None:
            yield mark("encapsulation", f"{end}: no packet of the path was seen on the underlay")
        elif vnis is not None and sorted(underlay.get("vnis", [])) != sorted(vnis):
            yield mark(
                "encapsulation",
                f"{end}: VNI {underlay.get('vnis')} on the underlay, expected {vnis}",
            )


# What another guest, the heat, the clock or a dead server did: the profile had no part in it, so the trial is
# measured again.
OUTSIDE = ("steal", "throttle", "clock", "clock_jump", "server_gone")
GUARDS = (
    mss,
    nothing_received,
    retransmits,
    confidence,
    steal,
    throttle,
    saturation,
    engine_limit,
    zero_copy,
    line_rate,
    one_cpu,
    overlap,
    cpu_window,
    clock,
    clock_jump,
    server_gone,
    interrupted,
    features,
    programs,
    profile,
    encapsulation,
    costly,
    *damage.GUARDS,
)


def marks_of(trial: Trial, expected: Expected) -> list[Mark]:
    """Return all marks of a trial, in the order of :data:`GUARDS`."""
    marks: list[Mark] = []
    for guard in GUARDS:
        marks.extend(guard(trial, expected))
    return marks


def excluded(trial: Trial) -> bool:
    """Return whether the analysis leaves this trial out."""
    return any(each.get("excludes", True) for each in trial.get("marks") or ())


def spoilt(trial: Trial) -> bool:
    """Return whether the analysis leaves a trial out for causes outside the profile alone.

    A trial that failed or received nothing is an outcome of its profile, whatever else happened.
    """
    excluding = [each["guard"] for each in trial.get("marks") or () if each.get("excludes", True)]
    return (
        bool(excluding) and not trial.get("error") and all(guard in OUTSIDE for guard in excluding)
    )
