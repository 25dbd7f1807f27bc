# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence: warm-up traffic along each path, and meanwhile the packets on the devices of both ends,
and of a forwarder between them.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from typing import Any, Collection, Dict, Iterable, Iterator, Mapping, Sequence, TypedDict

from .._base import network
from .._base.errors import InputError, LabError
from .._engines.engine import Line
from .._engines.engines import engine_that_started
from .._engines.workload import datagrams_argv, endpoint, stream_argv
from .._host import netns, runner
from .._host.waiting import wait_until
from .._load import admission
from . import sampler
from .packets import (
    TRAFFIC,
    WAYS,
    Way,
    are_streams,
)
from .probe import Probe
from .reading import Direction, Sample
from .sampler import SampledDevice

SETTLE = 0.05  # seconds until a stream has left slow start behind, on the machines that were tried
BEGIN = 30  # seconds at most until a stream moves data; on a path that carries none it never does
LONGEST = 60  # seconds of a stream; it is ended when its packets have been seen
TRIES = 5  # a stream can stand still for longer than one sample where CPUs are taken away
# Of the checks that the stream is gone: seconds of one, bytes in it that are next to nothing (40
# Mbit/s), how many in a row must see that, and seconds of all at most.
QUIET = 0.005
QUIET_BYTES = 25000
QUIET_CHECKS = 2
DRAIN = 0.5


Samples = Dict[str, Sample]  # by device
Ends = Dict[str, Samples]  # of "client" and "server", and of "forwarder" where there is one
Probes = Mapping[str, Probe]  # of the ends but the client's
DATAGRAMS = "UDP_STREAM"
SampledEnds = Dict[str, Any]  # Ends, or {"error": why no packets were seen}


class SampledPath(TypedDict, total=False):
    """A path, and the devices that its packets pass."""

    name: str
    address: str
    local_address: str
    netns: str | None
    port: int
    data_port: int | None
    client_devices: list[SampledDevice]
    server_devices: list[SampledDevice]
    forwarder_devices: list[SampledDevice]


class Engined(TypedDict, total=False):
    """The optional parts of a request."""

    token: str | None  # of the servers
    engine: str  # by default the first that knows the tests
    datagrams: Mapping[str, Any] | None  # the workload whose datagrams are sampled, too


class Params(Engined):
    """What is asked for, see module evidence."""

    paths: list[SampledPath]
    tests: list[str]
    seconds: float
    vxlan_port: int


def check(params: Params) -> None:
    """Refuse samples that are too short or too long, and impossible names."""
    for path in params["paths"]:
        network.address(path["address"], "address")
        network.address(path["local_address"], "local address")
        for device in [
            {"netns": path.get("netns")},
            *path["client_devices"],
            *path["server_devices"],
            *path.get("forwarder_devices", ()),
        ]:
            if device.get("netns"):
                network.namespace_name(device["netns"])
            if "name" in device:
                network.device_name(device["name"])
    if not 0.05 <= params["seconds"] <= 10:
        raise InputError(
            "not between 0.05 and 10 seconds",
            f"seconds {params['seconds']}",
            "Choose a value in this range.",
        )


def sample(
    params: Params, server: Probe, forwarder: Probe | None = None
) -> dict[str, dict[str, SampledEnds]]:
    """Sample each path while a stream of each test runs; return ``{path: {test: {"client", "server"}}}``.

    ``params`` has ``paths``, ``tests``, ``seconds`` and ``vxlan_port``, see module evidence. A path
    without traffic has ``{"error"}`` instead. With ``datagrams`` each device also has the samples of a
    stream of datagrams.
    """
    probes = {"server": server, **({"forwarder": forwarder} if forwarder else {})}
    by_path = {}
    for path in params["paths"]:
        by_path[path["name"]] = _sample_path(path, params, probes)
        if params.get("datagrams"):
            _add_datagrams(by_path[path["name"]], path, params, probes)
    return by_path


def _add_datagrams(
    by_test: Mapping[str, SampledEnds], path: SampledPath, params: Params, probes: Probes
) -> None:
    """Add to the sample of each device what it shows of datagrams, ``udp_out`` and ``udp_in``."""
    sampled = _sample_streams(path, [DATAGRAMS], TRIES, params, probes)[0][DATAGRAMS]
    for ends in by_test.values():
        if "error" in ends or "error" in sampled:
            continue
        for end, samples in sampled.items():
            for device, sample in samples.items():
                if _traffic([sample], both_ways=False):
                    ends[end][device].update(udp_out=sample["out"], udp_in=sample["in"])


def _line(path: SampledPath, test: str, params: Params) -> Line:
    """Return the process of one stream along a path that lasts longer than all samples."""
    data_port = path.get("data_port") or path["port"] + network.DATA_OFFSET
    end = endpoint(
        {
            "address": path["address"],
            "netns": path.get("netns"),
            "local": path["local_address"],
            "port": path["port"],
            "data_port": data_port,
        }
    )
    seconds = int(params["seconds"] * TRIES) + LONGEST
    if test == DATAGRAMS:
        argv = datagrams_argv(params["datagrams"] or {}, end, seconds)
    else:
        argv = stream_argv(test, end, seconds, params["tests"].index(test), params.get("engine"))
    return Line(argv, end)


@contextlib.contextmanager
def _stream(line: Line, token: str) -> Iterator[subprocess.Popen[str]]:
    """Start a stream that its server admits, until the context ends."""
    engine = engine_that_started(line.argv)
    with admission.admitted(engine, [line], token):
        with engine.inherited() as inherited:
            process = runner.start(
                line.argv,
                line.end["netns"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
                variables={**runner.environment(), **admission.variables(engine, token)},
            )
        try:
            yield process
        finally:
            process.kill()


def _sample_path(path: SampledPath, params: Params, probes: Probes) -> dict[str, SampledEnds]:
    """Sample both ends while streams run; return ``{test: {"client", "server"} or {"error"}}``.

    All streams run together: this takes half the time, and the two directions of a device are counted
    separately. On busy CPUs one stream can starve another for seconds. Then each stream runs alone.
    """
    tests = params["tests"]
    tries = 1 if len(tests) > 1 else TRIES
    by_test, everywhere = _sample_streams(path, tests, tries, params, probes)
    if everywhere or len(tests) == 1:
        return by_test
    one_by_one = {
        test: _sample_streams(path, [test], TRIES, params, probes)[0][test] for test in tests
    }
    complete = [ends for ends in one_by_one.values() if "error" not in ends]
    return {
        test: ends if "error" in ends else _together(complete) for test, ends in one_by_one.items()
    }


def _together(single_streams: Sequence[Ends]) -> Ends:
    """Return the samples of single streams as one sample.

    Each direction of a device comes from the stream with the most bytes in it.
    """

    def device(samples: Sequence[Sample]) -> Sample:
        def longest(way: Way) -> Direction:
            return max(
                (sample[way] for sample in samples),
                key=lambda device_sample: device_sample["bytes"],
            )

        most = max(samples, key=lambda sample: sum(sample[way]["bytes"] for way in WAYS))
        return {**most, "out": longest("out"), "in": longest("in")}

    together: Ends = {}
    for end in single_streams[0]:
        ends = [samples[end] for samples in single_streams]
        together[end] = {
            name: device([device_sample[name] for device_sample in ends]) for name in ends[0]
        }
    return together


def _sample_streams(
    path: SampledPath, tests: list[str], tries: int, params: Params, probes: Probes
) -> tuple[dict[str, SampledEnds], bool]:
    """Return what was seen while these streams ran, by test, and whether each device saw them, or
    one has ended.
    """
    before = _bytes(path)
    token = params.get("token") or ""
    with contextlib.ExitStack() as stack:
        streams = {}
        try:
            for test in tests:
                streams[test] = stack.enter_context(_stream(_line(path, test, params), token))
        except LabError as error:  # the server refuses this client
            return {test: {"error": str(error)} for test in tests}, False
        return _watch_streams(path, streams, tries, params, probes, before=before)


def _all_ends_saw(path: SampledPath, samples: SampledEnds, both_ways: bool) -> bool:
    """Return whether each device of the ends that were sampled saw the streams."""
    return all(
        _traffic_everywhere(devices, samples[end], both_ways)
        for end, devices in _devices_of(path).items()
        if end in samples
    )


def _watch_streams(
    path: SampledPath,
    streams: Mapping[str, subprocess.Popen[str]],
    tries: int,
    params: Params,
    probes: Probes,
    *,
    before: int,
) -> tuple[dict[str, SampledEnds], bool]:
    """Return what was seen until each device saw the streams, and end them."""
    tests = list(streams)
    printed: dict[str, str] = {}
    try:
        _wait_for_traffic(path, before, streams.values())
        for _try in range(tries):
            samples = _sample_ends(path, params, len(tests) > 1, probes)
            ended = [test for test, stream in streams.items() if stream.poll() is not None]
            done = bool(ended) or _all_ends_saw(path, samples, len(tests) > 1)
            if done:
                break
    finally:
        for test, stream in streams.items():
            stream.kill()
            printed[test] = stream.communicate()[0].strip()
        _wait_for_quiet(path)
    return {
        test: {"error": printed[test] or "the stream ended early"} if test in ended else samples
        for test in tests
    }, done


def _devices_of(path: SampledPath) -> dict[str, list[SampledDevice]]:
    ends = {"client": path["client_devices"], "server": path["server_devices"]}
    if path.get("forwarder_devices"):
        ends["forwarder"] = path["forwarder_devices"]
    return ends


def _wait_for_quiet(path: SampledPath) -> None:
    """Wait until what the killed stream left in queues has drained.

    On a path that drops packets under load the next trial's first ones were lost in it, and TCP
    waits a second then.
    """
    deadline = time.monotonic() + DRAIN
    before = _bytes(path)
    quiet = 0
    while quiet < QUIET_CHECKS and time.monotonic() < deadline:
        time.sleep(QUIET)
        now = _bytes(path)
        quiet = quiet + 1 if now - before < QUIET_BYTES else 0
        before = now


def _wait_for_traffic(
    path: SampledPath, before: int, streams: Collection[subprocess.Popen[str]]
) -> None:
    """Wait until the streams move data, or one of them has ended: on an emulated CPU netperf needs
    seconds to begin.
    """
    time.sleep(SETTLE)
    wait_until(
        lambda: _bytes(path) - before >= TRAFFIC,
        lambda: all(stream.poll() is None for stream in streams),
        BEGIN,
    )


def _bytes(path: SampledPath) -> int:
    """Return the bytes that passed the client's device of a path, or all its ports that are alike."""
    devices = [device for device in path["client_devices"] if device.get("alike")] or path[
        "client_devices"
    ][:1]
    return sum(map(_bytes_of, devices))


def _bytes_of(device: SampledDevice) -> int:
    """Return the bytes that a device has received and sent.

    Not by a packet socket: to close one takes 20 ms.
    """
    with netns.inside(device.get("netns")), open("/proc/self/net/dev") as stream:
        for line in stream:
            name, _colon, counts = line.partition(":")
            if name.strip() == device["name"]:
                fields = counts.split()
                return int(fields[0]) + int(fields[8])
    return 0


def _sample_ends(path: SampledPath, params: Params, both_ways: bool, probes: Probes) -> Ends:
    others = {end: devices for end, devices in _devices_of(path).items() if end in probes}
    for end, devices in others.items():
        probes[end].send(
            "sample",
            devices=devices,
            seconds=params["seconds"],
            vxlan_port=params["vxlan_port"],
            both_ways=both_ways,
        )
    client = sampler.sample(
        path["client_devices"], params["seconds"], params["vxlan_port"], both_ways
    )
    return {"client": client, **{end: probes[end].receive() for end in others}}


def _traffic_everywhere(
    devices: Iterable[SampledDevice], samples: Samples, both_ways: bool
) -> bool:
    """Return whether the streams passed each device of an end; those that are ``alike`` count as
    one.
    """
    groups = [[device] for device in devices if not device.get("alike")]
    groups.append([device for device in devices if device.get("alike")])
    for group in filter(None, groups):
        if not _traffic([samples[network.key_of(device)] for device in group], both_ways):
            return False
    return True


def _traffic(samples: Sequence[Sample], both_ways: bool) -> bool:
    """Return whether all streams passed, by what several devices saw together."""
    sent = sum(sample["out"]["bytes"] for sample in samples)
    received = sum(sample["in"]["bytes"] for sample in samples)
    return are_streams(sent, received, both_ways)
