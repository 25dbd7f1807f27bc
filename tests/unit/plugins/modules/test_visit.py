# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom a client asks about a trial that ended early."""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.modules import visit

LOAD = {"engine": "payload", "test": "PAYLOAD", "duration": 1}
CHECK = {"elapsed": 1.0, "mss": 1448, "checks": {}, "counters": {}, "error": None}
STOPPED = {**CHECK, "error": "the other end has closed the connection"}


class Probe:
    """The server's probe, which gives one answer."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def ask(self, op, **request):
        self.asked.append((op, *request.values()))
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"serves": self.answer}


def state(probe, checks_found, error=None):
    end = workload.endpoint({"address": "198.18.0.2", "port": 12865})
    row = {"error": error, "streams": [{"raw": json.dumps(checks_found)}]}
    return visit.server_state(row, workload.checked(LOAD), [end, end], probe)


def test_a_check_that_came_to_its_end_asks_nobody():
    probe = Probe(False)
    assert state(probe, CHECK) == {}
    assert probe.asked == []


@pytest.mark.parametrize("found, error", [(STOPPED, None), ("torn", None), (CHECK, "failed")])
def test_the_probe_is_asked_where_a_check_ended_early(found, error):
    probe = Probe(False)
    assert state(probe, found, error) == {"server_answers": False}
    assert probe.asked == [("serves", "198.18.0.2", 12868)]


@pytest.mark.parametrize("answer", [True, None, LabError("gone", "probe"), OSError()])
def test_what_is_not_known_is_not_said(answer):
    assert state(Probe(answer), STOPPED) == {}
    assert state(None, STOPPED) == {}


STRIKE = {"address": "10.244.2.5", "reason": "10.244.2.5 did not answer for 1.4 s"}


class Struck:
    """A probe of a node whose switch has struck, or not."""

    def __init__(self, strike):
        self.strike = strike

    def ask(self, op):
        if isinstance(self.strike, Exception):
            raise self.strike
        return {op: self.strike}


FAILED, ENDED = {"error": "it was lost"}, {"error": None}
PARAMS = {"probe": {"address": "198.18.0.2", "port": 12866, "token": "t"}}


@pytest.fixture
def node(monkeypatch, tmp_path):
    """The files of a node's switch."""
    monkeypatch.setattr(visit.strikes, "STRUCK", str(tmp_path / "STRUCK"))
    monkeypatch.setattr(visit.strikes, "WATCHED", str(tmp_path / "WATCHED"))
    return tmp_path


def test_a_strike_of_either_end_is_seen(node):
    assert visit.strike_before(None) is None
    assert visit.strike_before(Struck(OSError())) is None
    assert visit.strike_before(Struck(STRIKE)) == STRIKE
    assert visit.strike_after(PARAMS, None, FAILED) is None  # no path is watched
    assert visit.strike_after(PARAMS, Struck(None), FAILED) is None
    assert visit.strike_after(PARAMS, Struck(STRIKE), FAILED) == STRIKE
    (node / "STRUCK").write_text(json.dumps(STRIKE))
    assert visit.strike_before(None) == visit.strike_after(PARAMS, Struck(None), ENDED) == STRIKE


WATCHLIST = {"strikes": True, "answers": [{"netns": "pod", "address": "10.244.2.5"}]}


@pytest.mark.parametrize("answers, waits", [(True, 0), (False, 1)])
def test_no_strike_is_waited_for_where_the_path_answers(monkeypatch, node, answers, waits):
    """As where a fault stops TCP alone: a dead visit would take seconds more."""
    waited = []
    monkeypatch.setattr(visit, "wait_until", lambda *_args, **_options: waited.append(1))
    monkeypatch.setattr(
        visit.strikes.echo, "ask", lambda targets, _seconds: set(targets) if answers else set()
    )
    (node / "WATCHED").write_text(json.dumps(WATCHLIST))
    assert visit.strike_after({"probe": None}, None, FAILED) is None
    assert len(waited) == waits


@pytest.mark.parametrize("server", [None, Struck(OSError())])
def test_an_end_that_restores_itself_alone_is_asked_again(monkeypatch, node, server):
    """Its probe did not answer under the profile; the client's switch has seen nothing."""
    monkeypatch.setattr(visit.sign_of_life, "HARM_S", 0.1)
    monkeypatch.setattr(visit, "Probe", lambda **_options: Struck(STRIKE))
    assert visit.strike_after(PARAMS, server, ENDED) is None  # no path is watched
    (node / "WATCHED").write_text(json.dumps(WATCHLIST))
    monkeypatch.setattr(visit.strikes.echo, "ask", lambda _targets, _seconds: set())
    assert visit.strike_after(PARAMS, server, ENDED) == STRIKE
    assert visit.strike_after(PARAMS, server, FAILED) == STRIKE
    assert visit.strike_after({"probe": None}, server, ENDED) is None


@pytest.mark.parametrize(
    "local, address, key",
    [
        ("10.244.1.5", "10.244.2.5", "path_stopped"),
        ("10.244.2.5", "10.244.1.5", "path_stopped"),  # seen at the server
        ("10.245.1.5", "10.245.2.5", "interrupted"),
        (None, "10.245.2.5", "interrupted"),
    ],
)
def test_a_strike_is_an_answer_of_its_path_alone(local, address, key):
    end = workload.endpoint({"address": address, "local": local})
    assert visit.of_strike(STRIKE, [end]) == {key: STRIKE["reason"]}


def test_packets_are_not_sampled_where_no_server_answered_a_client():
    ends = [workload.endpoint({"address": f"198.18.{index}.2", "port": 12865}) for index in "0123"]
    cells = [({}, LOAD, [end]) for end in ends[:3]] + [({}, LOAD, ends[2:])]
    failed, passed = {"streams": [{"rc": 1}]}, {"streams": [{"rc": 1}, {"rc": 0}]}
    rows = [failed, passed, failed, passed]
    assert visit.unanswered(cells, rows) == {"198.18.0.2"}
    assert visit.unanswered(cells[:1], [{"streams": []}]) == {"198.18.0.2"}


class Module:
    params = {
        "engines": ["payload"], "probe": None, "forwarder": None, "chunk": None, "sampling": {"paths": []},
        "devices": {},
    }  # fmt: skip


@pytest.mark.parametrize("struck, packets", [(None, True), ({"address": "", "reason": "x"}, False)])
def test_packets_are_of_the_visits_profile(monkeypatch, struck, packets):
    monkeypatch.setattr(visit, "watcher", lambda *_given: None)
    monkeypatch.setattr(visit, "measure", lambda *_given: [{"streams": []}])
    monkeypatch.setattr(visit, "sampled", lambda *_given: {"packets": {"pods": {}}})
    monkeypatch.setattr(visit, "strike_before", lambda *_given: struck)
    monkeypatch.setattr(visit.sign_of_life, "fired", lambda: None)
    sampled = visit.sample_and_measure(Module(), [])
    assert sampled["cells"] and ("packets" in sampled) is packets
