# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import (
    CommandError,
    InputError,
)
from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._engines.engine import Engine
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import engine_named
from ansible_collections.offload.lab.plugins.module_utils._engines.netperf import netperf
from ansible_collections.offload.lab.plugins.module_utils._host import runner
from ansible_collections.offload.lab.plugins.module_utils._load import run as netperf_run

END = {"netns": None, "local": None, "address": "127.0.0.1", "port": 1, "data_port": 2}


@pytest.fixture
def cell(monkeypatch):
    """Return a function that runs a cell whose netperf is a Python script; ``{n}`` in it is the
    stream's number.
    """

    def run(script, watch=None, longest=20, **options):
        load = workload.checked(dict({"test": "TCP_STREAM", "duration": 1}, **options))
        numbers = iter(range(1000))
        monkeypatch.setattr(
            netperf,
            "stream_argv",
            lambda _load, _test, _end, _number: [
                sys.executable,
                "-S",
                "-c",
                script.replace("{n}", str(next(numbers))),
            ],
        )
        monkeypatch.setattr(workload, "seconds", lambda _load: (1, longest))
        return netperf_run.run_cell(load, [END], watch)

    return run


def test_what_a_stream_printed_comes_back_with_its_times(cell):
    before = time.time()
    row = cell("import sys; print('out'); print('err', file=sys.stderr)")
    stream = row["streams"][0]
    assert (stream["raw"], stream["stderr"], stream["rc"], stream["netns"]) == (
        "out\n",
        "err\n",
        0,
        None,
    )
    assert (
        before
        <= row["started"]
        <= stream["started"]
        <= stream["finished"]
        <= row["finished"]
        <= time.time()
    )
    assert row["error"] is None


def test_a_failure_is_told_and_not_raised(cell):
    row = cell(
        "import sys; sys.exit('establish control: are you sure there is a netserver listening?')"
    )
    assert row["error"] == (
        "netperf failed with exit status 1: establish control: are you sure there is a netserver "
        "listening?"
    )
    assert row["streams"][0]["rc"] == 1


def test_the_failed_of_several_streams_are_counted(cell):
    row = cell("import sys; sys.exit({n} % 2 and 'no')", streams=4)
    assert row["error"] == "netperf failed with exit status 1 (2 of 4 streams): no"
    assert [stream["rc"] for stream in row["streams"]] == [0, 1, 0, 1]


class SetClock:
    """The module's clocks; the wall clock is set back by an hour after ``looks`` readings."""

    def __init__(self, looks):
        self.looks = looks
        self.monotonic = time.monotonic

    def time(self):
        self.looks -= 1
        return time.time() - (3600 if self.looks < 0 else 0)


def test_a_clock_that_is_set_meanwhile_is_told_and_ends_nothing(cell, monkeypatch):
    monkeypatch.setattr(netperf_run, "time", SetClock(4))
    row = cell("print('out')")
    assert row["clock_jump_s"] == pytest.approx(-3600, abs=1)
    assert (row["error"], row["streams"][0]["raw"]) == (None, "out\n")
    monkeypatch.setattr(netperf_run, "time", SetClock(100))
    assert "clock_jump_s" not in cell("print('out')")


def test_a_silent_failure_is_told(cell):
    assert (
        cell("import os; os._exit(3)")["error"]
        == "netperf failed with exit status 3: it said nothing"
    )


def test_what_does_not_end_is_stopped(cell):
    started = time.time()
    row = cell(
        "import time, os; print(os.getpid(), flush=True); time.sleep(60)", longest=1, streams=2
    )
    assert row["error"] == "did not end within 1 s"
    assert time.time() - started < 15
    for stream in row["streams"]:
        assert stream["rc"] == -signal.SIGKILL
        assert not os.path.exists("/proc/" + stream["raw"].strip())


BEGUN = "print('NETPERF_INTERVAL[0]=0.05', flush=True); "


def test_a_cell_shorter_than_netperfs_clock_is_ended_by_its_signal_once_it_runs(cell):
    wait = (
        "import signal, time; signal.signal(signal.SIGALRM, lambda *_: None); began = time.time(); "
    )
    row = cell(
        f"{wait}time.sleep(0.4); {BEGUN}signal.pause(); print(time.time() - began)", duration=0.25
    )
    assert row["error"] is None
    assert 0.6 <= float(row["streams"][0]["raw"].split()[-1]) < 5


def test_a_cell_that_has_not_begun_gets_no_signal(cell):
    row = cell("import time; time.sleep(0.6); print('done')", duration=0.25)
    assert (row["error"], row["streams"][0]["raw"]) == (None, "done\n")


def test_a_whole_second_is_left_to_netperfs_own_clock(cell):
    row = cell(f"{BEGUN}import time; time.sleep(1.2); print('done')", duration=1)
    assert row["error"] is None and row["streams"][0]["raw"].endswith("done\n")


def test_a_program_that_is_not_there_is_an_error_of_the_cell(cell, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/netperf")
    row = cell("")
    assert "exit status 127" in row["error"] and "No such file or directory" in row["error"]


def test_several_streams_start_at_a_barrier(cell):
    """Each reports when it runs; the first is started long before the last, and waits for it."""
    row = cell("import time; print(time.time())", streams=12)
    begun = [float(stream["raw"]) for stream in row["streams"]]
    assert len({stream["started"] for stream in row["streams"]}) == 1
    assert min(begun) >= row["streams"][0]["started"]


def test_much_output_does_not_block(cell):
    row = cell("print('x' * 3000000)")
    assert len(row["streams"][0]["raw"]) == netperf_run.MAX_TEXT and row["error"] is None


class Recorder(netperf_run.Watch):
    def __init__(self):
        self.calls = []

    def opened(self):
        self.calls.append(("opened", time.time()))

    def first_ended(self):
        self.calls.append(("first_ended", time.time()))

    def report(self):
        return {"watched": [name for name, _when in self.calls]}


@pytest.mark.parametrize(
    "seconds, options",
    [
        (0.0, {}),  # ends before anything is due
        (0.5, {}),
        (2.0, {}),  # outlives its traffic of one second
        (2.0, {"confidence": {"iterations_max": 3}}),
        (0.5, {"streams": 3}),
    ],
)
def test_a_watch_is_told_once_of_begin_and_end(cell, seconds, options):
    watch = Recorder()
    row = cell(f"import time; time.sleep({seconds})", watch, **options)
    assert row["watched"] == ["opened", "first_ended"]
    window = watch.calls[1][1] - watch.calls[0][1]
    limit = 1.0 if not options.get("confidence") else 2.0
    assert window <= max(limit, seconds + 5) and (seconds < 2 or window > 0.5)
    if seconds == 2.0 and not options:
        assert watch.calls[1][1] < row["streams"][0]["finished"] - 0.3


def test_a_watch_sees_all_traffic_of_an_engine_that_does_not_end_on_time(cell, monkeypatch):
    monkeypatch.setattr(Engine, "ends_on_time", False)
    watch = Recorder()
    row = cell("import time; time.sleep(2.0)", watch)
    assert watch.calls[1][1] >= row["streams"][0]["finished"]


class Restored(netperf_run.Watch):
    """The dead man's switch restores the node while the cell runs."""

    def stopped(self):
        return "10.244.2.5 did not answer"


def test_a_cell_is_broken_off_where_the_node_was_restored(cell):
    row = cell("import time; print('begun', flush=True); time.sleep(60)", Restored(), streams=2)
    assert row["error"] == "10.244.2.5 did not answer"
    assert row["finished"] - row["started"] < 15
    assert all(stream["rc"] == -signal.SIGKILL for stream in row["streams"])


def test_netperf_dies_with_the_module_and_no_file_stays(tmp_path):
    """The module is killed without a chance to clean up."""
    begun = tmp_path / "begun"
    temporary = tmp_path / "tmp"
    begun.mkdir()
    temporary.mkdir()
    script = f"""\
import sys
from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._engines.netperf import netperf
from ansible_collections.offload.lab.plugins.module_utils._load import run

STREAM = "import os, sys, time; os.mkdir(sys.argv[1] + str(os.getpid())); time.sleep(60)"
netperf.stream_argv = lambda *_args: [sys.executable, "-S", "-c", STREAM, sys.argv[1]]
load = workload.checked({{"test": "TCP_STREAM", "streams": 3}})
run.run_cell(load, [{END!r}])
"""
    module = subprocess.Popen(
        [sys.executable, "-c", script, str(begun) + "/"],
        env=dict(
            os.environ,
            PYTHONPATH=os.pathsep.join(path for path in sys.path if path),
            TMPDIR=str(temporary),
        ),
    )
    try:
        limit = time.time() + 30
        while len(list(begun.iterdir())) < 3 and time.time() < limit:
            time.sleep(0.02)
        pids = [path.name for path in begun.iterdir()]
        assert len(pids) == 3
    finally:
        module.kill()
        module.wait()
    limit = time.time() + 10
    while any(os.path.exists("/proc/" + pid) for pid in pids) and time.time() < limit:
        time.sleep(0.02)
    assert [pid for pid in pids if os.path.exists("/proc/" + pid)] == []
    assert list(temporary.iterdir()) == []


def test_preflight_names_the_netserver_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(runner, "run", lambda *_args, **_options: None)
    with socket.socket() as listening, socket.socket() as deaf:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        deaf.bind(("127.0.0.1", 0))
        endpoint = dict(END, port=listening.getsockname()[1], local="127.0.0.1")
        netperf_run.preflight(engine_named("netperf"), [endpoint])
        with pytest.raises(InputError, match="netserver: TCP does not pass to 127.0.0.1 port"):
            netperf_run.preflight(
                engine_named("netperf"), [endpoint, dict(END, port=deaf.getsockname()[1])]
            )


@pytest.mark.parametrize("silent", [socket.timeout("timed out"), OSError(113, "No route to host")])
def test_a_path_that_is_tested_may_be_dead(monkeypatch, silent):
    def connect(*_args, **_options):
        raise silent

    monkeypatch.setattr(runner, "run", lambda *_args, **_options: None)
    monkeypatch.setattr(socket, "create_connection", connect)
    payload = engine_named("payload")
    [sentence] = netperf_run.preflight(payload, [END, dict(END)], path_is_tested=True)
    assert sentence.startswith("TCP does not pass to 127.0.0.1 port 4 (")
    with pytest.raises(InputError, match="TCP does not pass"):
        netperf_run.preflight(payload, [END])


def test_a_refusal_is_an_answer_on_a_path_that_is_tested_too(monkeypatch):
    monkeypatch.setattr(runner, "run", lambda *_args, **_options: None)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        end = dict(END, port=deaf.getsockname()[1] - 3)
        with pytest.raises(InputError, match="TCP does not pass"):
            netperf_run.preflight(engine_named("payload"), [end], path_is_tested=True)


def test_preflight_says_that_netperf_is_missing(monkeypatch):
    monkeypatch.setattr(runner, "SEARCH_PATH", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CommandError, match="Install the package that provides 'netperf'"):
        netperf_run.preflight(engine_named("netperf"), [])
