# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._observe import probe as observe_probe


@pytest.fixture
def server():
    bound = observe_probe.listen("127.0.0.1", 0, "secret")
    thread = threading.Thread(
        target=bound.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    yield bound
    bound.shutdown()
    bound.server_close()


def ask(server, token="secret"):
    return observe_probe.Probe(*server.server_address, token=token)


def cpus(stat):
    return [line.split()[0] for line in stat.splitlines() if line.startswith("cpu")]


def test_snapshot_has_all_cpus_and_names_the_kernel(server):
    probe = ask(server)
    there = probe.ask("snapshot")
    here = observe_probe.snapshot()
    probe.close()
    assert there["boot_id"] == here["boot_id"] != ""
    assert cpus(there["stat"]) == cpus(here["stat"]) != []
    assert "NET_RX:" in there["softirqs"].split()


def test_one_machine_has_one_clock(server):
    probe = ask(server)
    offset, error = probe.clock()
    probe.close()
    assert abs(offset) <= error + 0.001


def test_a_wrong_token_gets_no_answer(server):
    probe = ask(server, "wrong")
    with pytest.raises(LabError, match="token"):
        probe.ask("clock")
    probe.close()


@pytest.mark.parametrize(
    "request_", [{"op": "nonsense"}, {"op": "sample"}, {"op": "sample", "devices": 5, "seconds": 0}]
)
def test_a_wrong_request_is_an_error_and_the_probe_lives_on(server, request_):
    probe = ask(server)
    with pytest.raises(LabError):
        probe.ask(**request_)
    assert probe.ask("clock")["time"] > 0
    probe.close()


def test_nobody_there():
    with pytest.raises(LabError, match="does not answer"):
        observe_probe.Probe("127.0.0.1", 1, "secret", timeout=1)
