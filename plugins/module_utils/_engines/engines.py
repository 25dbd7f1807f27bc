# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: which engines there are. A new one is a folder, and a line here."""

from __future__ import annotations

import itertools
from typing import Iterable, Sequence

from .._base.errors import InputError
from .engine import Engine
from .iperf3.iperf3 import Iperf3
from .netperf.netperf import Netperf
from .payload.payload import PayloadCheck
from .sockets.sockets import Sockets

ENGINES: tuple[Engine, ...] = (Netperf(), Iperf3(), PayloadCheck(), Sockets())
BY_NAME = {engine.name: engine for engine in ENGINES}
# Those that can make the load of a campaign that names none: its paths are checked with a stream.
STREAMING = [engine.name for engine in ENGINES if "TCP_STREAM" in engine.tests]
AUTO = "auto"  # the first of the automatic engines whose programs all nodes have
# Each once, in the order of the engines.
TESTS = tuple(dict.fromkeys(itertools.chain.from_iterable(maker.tests for maker in ENGINES)))


def engine_named(name: object) -> Engine:
    """Return an engine; raises InputError for a name that none has."""
    if name not in BY_NAME:
        raise InputError("unknown engine", repr(name), f"Use one of {', '.join(BY_NAME)}.")
    return BY_NAME[str(name)]


def engine_of(test: str, name: object = None) -> Engine:
    """Return the engine that makes a test: the one with the name, or the first that knows it."""
    if name is None:
        return next(engine for engine in ENGINES if test in engine.tests)
    engine = engine_named(name)
    if test not in engine.tests:
        able = ", ".join(maker.name for maker in ENGINES if test in maker.tests)
        raise InputError(f"{engine.name} has no test {test}", f"engine {name}", f"Use {able}.")
    return engine


def engine_that_started(argv: Sequence[str]) -> Engine:
    """Return the engine of a process on the client; netperf where none knows it."""
    return next((engine for engine in ENGINES if engine.started(argv)), ENGINES[0])


def candidates(name: str) -> list[str]:
    """Return the engines that a value of offload_lab_engine may mean."""
    if name == AUTO:
        return [engine.name for engine in ENGINES if engine.automatic]
    return [engine_named(name).name]


def programs_of(names: Iterable[str]) -> list[str]:
    """Return the programs that nodes need for these engines."""
    every = (engine_named(name).programs() for name in names)
    return list(dict.fromkeys(itertools.chain.from_iterable(every)))
