# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one cell: its processes start at a barrier, and each one's text comes back with its times."""

from __future__ import annotations

import errno
import fcntl
import os
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from typing import IO, Any, Callable, Iterable, Mapping, NamedTuple, Sequence, TypedDict

from .._base.errors import InputError, LabError
from .._engines import workload
from .._engines.engine import Endpoint, Engine, Line, Load, processes
from .._engines.engines import engine_named
from .._host import netns as host_netns
from .._host import runner
from . import admission

# Of util-linux: the process is killed when this module is, however that happens. A preexec_fn would do
# the same and take three times as long, because Python then copies itself for each process (500
# processes: 2.0 s, with this 0.7 s).
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]
MAX_TEXT = 1 << 20  # bytes of output kept of one process
# Seconds by which the wall clock may part from the monotonic one in a trial: NTP slews 0.05 % at
# most
JUMP = 0.1
# s until a server must have taken a connection: two SYNs may be lost (RFC 6298), and one where a dead
# path is the question
REACH_S = 5.0
REACH_TESTED_S = 1.5
# What connect(2) reports where no packet came back.
SILENT = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)
WAKE_S = 0.5  # from one question whether the trial is to be stopped to the next


class StreamRecord(TypedDict):
    """A process in the record of its trial."""

    netns: str | None
    argv: list[str]
    rc: int
    raw: str
    stderr: str
    started: float
    finished: float | None


class _Stream:
    """One process and what it printed."""

    def __init__(
        self,
        argv: list[str],
        netns: str | None,
        prefix: list[str],
        inherited: tuple[int, ...],
        variables: Mapping[str, str],
    ) -> None:
        self.argv = argv
        self.netns = netns
        self.texts = {"stdout": b"", "stderr": b""}
        self.open = set(self.texts)
        self.finished: float | None = None
        self.process = runner.start(
            prefix + argv,
            netns,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=inherited,
            variables={**runner.environment(), **variables},
        )
        self.started = time.time()

    def record(self) -> StreamRecord:
        """Return this stream's part of the trial record."""
        return {
            "netns": self.netns,
            "argv": self.argv,
            "rc": self.process.returncode,
            "raw": self.texts["stdout"].decode("utf-8", "replace"),
            "stderr": self.texts["stderr"].decode("utf-8", "replace"),
            "started": self.started,
            "finished": self.finished,
        }


class _Window:
    """Notifies a watch when all streams run, and when the first is about to end, in this order and
    once each.

    Processes need a moment to begin, and can outlive their traffic: netperf may wait 4 s for its
    peer's results. Where traffic does not end on time, it ends with the first process.
    """

    def __init__(self, watch: Watch, engine: Engine, load: Load, opened: float) -> None:
        settle = min(load["duration"] / 4.0, 0.01 * processes(load))
        begin = opened + engine.wait_before_traffic(load) + load["warm_up"]
        self.pending: list[tuple[float, Callable[[], None]]] = [(begin + settle, watch.opened)]
        if engine.ends_on_time and not load["confidence"]:
            self.pending.append((begin + load["duration"], watch.first_ended))
        self.last: Callable[[], None] | None = watch.first_ended

    def tick(self, now: float) -> float | None:
        """Call what is due and return when the next call is, or None."""
        while self.pending and self.pending[0][0] <= now:
            _when, call = self.pending.pop(0)
            self.last = None if call == self.last else self.last
            call()
        return self.pending[0][0] if self.pending else None

    def close(self) -> None:
        """The first stream has ended: call what is left."""
        self.tick(float("inf"))
        if self.last:
            self.last()
            self.last = None


class _Ending:
    """Ends the traffic of processes whose own clock knows whole seconds, by the signal of that clock.

    A process gets it when its traffic has run long enough, and never before it runs.
    """

    def __init__(self, engine: Engine, load: Load, streams: Iterable[_Stream]) -> None:
        self.engine = engine
        self.run_s = load["duration"] - (load["interim"] or 0)
        self.waiting = list(streams) if load["duration"] < engine.clock else []
        self.due: list[tuple[float, _Stream]] = []

    def tick(self, now: float) -> float | None:
        """Signal what is due and return when the next is, or None."""
        for stream in list(self.waiting):
            if self.engine.begun(stream.texts["stdout"]):
                self.waiting.remove(stream)
                self.due.append((now + self.run_s, stream))
        while self.due and self.due[0][0] <= now:
            _when, stream = self.due.pop(0)
            if stream.process.poll() is None:
                stream.process.send_signal(signal.SIGALRM)
        return self.due[0][0] if self.due else None


class Clocks(NamedTuple):
    """What has to happen at a time while the processes of a cell run."""

    window: _Window
    ending: _Ending


def _collect(
    streams: Iterable[_Stream], deadline: float, clocks: Clocks, watch: Watch
) -> str | None:
    """Read all streams to their ends, or until the deadline; a stream ends when both its pipes do.

    Return why the watch has stopped it, None where it has not.
    """
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            for name in stream.texts:
                selector.register(
                    getattr(stream.process, name), selectors.EVENT_READ, (stream, name)
                )
        while selector.get_map() and time.monotonic() < deadline:
            stopped = watch.stopped()
            if stopped:
                return stopped
            calls = [clock.tick(time.monotonic()) for clock in clocks]
            wait = max(0, min([deadline, *filter(None, calls)]) - time.monotonic())
            for key, _events in selector.select(min(wait, WAKE_S)):
                stream, name = key.data
                data = os.read(key.fd, 65536)
                stream.texts[name] = (stream.texts[name] + data)[:MAX_TEXT]
                if not data:
                    selector.unregister(key.fileobj)
                    stream.open.discard(name)
                if not stream.open:
                    stream.finished = time.time()
                    clocks.window.close()
    return None


def _stop(streams: Iterable[_Stream]) -> None:
    """End what still runs and wait for it: netserver sees its control connection close."""
    for stream in streams:
        if stream.finished is None:
            stream.process.kill()
    for stream in streams:
        try:
            stream.process.wait(10)
        except subprocess.TimeoutExpired:
            stream.process.kill()
            stream.process.wait()
        stream.finished = stream.finished or time.time()
        for pipe in filter(None, (stream.process.stdout, stream.process.stderr)):
            pipe.close()


def _start(
    planned: Iterable[tuple[list[str], str | None]],
    barrier: IO[bytes] | None,
    inherited: tuple[int, ...],
    variables: Mapping[str, str],
) -> list[_Stream]:
    """Start every process, with more ``variables`` in its environment; with a barrier (a locked
    file) each waits until it is opened.
    """
    # "flock --no-fork" waits for the lock and then becomes the process: a barrier without a process of
    # its own. The file has no name, so that nothing is left of it when this module is killed: it is
    # opened through our descriptor.
    prefix = DIE_WITH_PARENT
    if barrier:
        prefix = prefix + [
            "flock",
            "--shared",
            "--no-fork",
            f"/proc/{os.getpid()}/fd/{barrier.fileno()}",
        ]
    streams: list[_Stream] = []
    try:
        for argv, netns in planned:
            streams.append(_Stream(argv, netns, prefix, inherited, variables))
    except LabError:
        _stop(streams)
        raise
    return streams


def _error_of(
    engine: Engine, streams: Sequence[_Stream], timed_out: bool, longest: float
) -> str | None:
    if timed_out:
        return f"did not end within {longest:.0f} s"
    failed = [stream for stream in streams if stream.process.returncode != 0]
    if not failed:
        return None
    texts = [failed[0].texts[name].decode("utf-8", "replace") for name in ("stdout", "stderr")]
    said = engine.complaint(*texts)
    share = f" ({len(failed)} of {len(streams)} streams)" if len(streams) > 1 else ""
    return (
        f"{engine.called} failed with exit status {failed[0].process.returncode}{share}: "
        f"{' '.join(said.split())[:300] or 'it said nothing'}"
    )


class Watch:
    """What is observed while a cell runs; this one observes nothing.

    Its ``report`` is put into the cell's record.
    """

    def opened(self) -> None:
        """All streams run."""

    def first_ended(self) -> None:
        """The first stream has ended, or is about to."""

    def stopped(self) -> str | None:
        """Return why the cell is to be broken off; None: it is not."""
        return None

    def report(self) -> dict[str, Any]:
        """Return fields for the cell's record."""
        return {}


def _extras(load: Load, jump: float) -> dict[str, float]:
    """Return what the record of few trials has: by how much the clock was set, and the warm-up."""
    extras: dict[str, float] = {}
    if abs(jump) > JUMP:
        extras["clock_jump_s"] = round(jump, 3)
    if load["warm_up"]:
        extras["warm_up_s"] = load["warm_up"]
    return extras


def run_cell(
    load: Load, endpoints: Sequence[Endpoint], watch: Watch | None = None, token: str = ""
) -> dict[str, Any]:
    """Run one cell and return ``{started, finished, streams, error}``; times are seconds since the
    epoch.

    ``load`` and ``endpoints`` are checked, see :mod:`.._engines.workload`. A failure is returned, not
    raised. Where the wall clock was set meanwhile there is ``clock_jump_s`` too: netperf measures
    by that clock. ``warm_up_s`` is there where the first seconds of each stream are not to be
    counted. ``watch`` is notified when the streams start and when the first of them ends.
    ``token`` is the token of the servers' node; without one the servers are not ours.
    """
    engine = engine_named(load["engine"])
    lines = engine.lines(load, endpoints)
    began = time.time()
    try:
        with admission.admitted(engine, lines, token, load.get("congestion_control") or ""):
            return _run_lines(load, engine, lines, watch or Watch(), token)
    except LabError as error:
        return {"started": began, "finished": time.time(), "streams": [], "error": str(error)}


def _run_lines(
    load: Load, engine: Engine, lines: Sequence[Line], watch: Watch, token: str
) -> dict[str, Any]:
    """Run the processes of a cell, and return its record."""
    planned = [(line.argv, line.end["netns"]) for line in lines]
    longest = workload.seconds(load)[1]
    variables = admission.variables(engine, token)
    with tempfile.TemporaryFile() as barrier, engine.inherited() as inherited:
        fcntl.flock(barrier, fcntl.LOCK_EX)
        started = time.time()
        held = barrier if len(planned) > 1 else None
        streams = _start(planned, held, inherited, variables)
        opened = time.time()
        opened_monotonic = time.monotonic()
        fcntl.flock(barrier, fcntl.LOCK_UN)
        for stream in streams:
            stream.started = max(stream.started, opened) if len(planned) > 1 else stream.started
        window = _Window(watch, engine, load, opened_monotonic)
        clocks = Clocks(window, _Ending(engine, load, streams))
        stopped = _collect(streams, opened_monotonic + longest, clocks, watch)
        timed_out = any(stream.finished is None for stream in streams)
        _stop(streams)
        finished = time.time()
        jump = time.time() - opened - (time.monotonic() - opened_monotonic)
    return dict(
        watch.report(),
        started=started,
        finished=finished,
        **_extras(load, jump),
        streams=[stream.record() for stream in streams],
        error=stopped or _error_of(engine, streams, timed_out, longest),
    )


def _answer_error(engine: Engine, end: Endpoint, reach_s: float) -> OSError | None:
    """Return why the engine's server at an end takes no TCP connection, None where it takes one."""
    source = (end["local"], 0) if end["local"] else None
    there = (end["address"], end["port"] + engine.port_offset)
    try:
        with host_netns.inside(end["netns"]):
            socket.create_connection(there, timeout=reach_s, source_address=source).close()
    except OSError as error:
        return error
    return None


def _is_silent(error: OSError) -> bool:
    """Return whether no packet of the other end came back; a refusal is an answer."""
    return isinstance(error, socket.timeout) or error.errno in SILENT


def _place(engine: Engine, end: Endpoint) -> str:
    place = f"{end['address']} port {end['port'] + engine.port_offset}"
    return place + (f" from namespace {end['netns']}" if end["netns"] else "")


def _distinct(endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    return list({tuple(sorted(end.items(), key=str)): end for end in endpoints}.values())


def preflight(
    engine: Engine, endpoints: Iterable[Endpoint], path_is_tested: bool = False
) -> list[str]:
    """Raise one clear error when an engine is missing or its server does not answer; nothing is
    measured before.

    Where ``path_is_tested``, a path on which TCP does not pass is a finding, not an error. Return
    a sentence for each such path.
    """
    runner.run(list(engine.asks), check=False)
    sentences: list[str] = []
    reach_s = REACH_TESTED_S if path_is_tested else REACH_S
    for end in _distinct(endpoints):
        error = _answer_error(engine, end, reach_s)
        if error is None:
            continue
        reason = f"TCP does not pass to {_place(engine, end)} ({error.strerror or error})"
        if not path_is_tested or not _is_silent(error):
            raise InputError(
                reason,
                engine.server,
                "See whether the server runs there (ss -ltn), and whether a firewall is in between.",
            )
        sentences.append(
            f"{reason}. The check begins: it finds out whether an offload is the cause."
        )
    return sentences
