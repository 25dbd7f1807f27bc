# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A path that can be measured, and what is said of one that cannot; programs' outputs are recorded."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._preflight import path

SUMMARY = "20 packets transmitted, {0} received, {1}% packet loss, time 399ms\n"
RATE = "THROUGHPUT=941.53\nTHROUGHPUT_UNITS=10^6bits/s\n"
FEW = SUMMARY.format(20, 0)
# iputils of Debian 12, towards a device of MTU 1450 and a router that says so.
TOO_LONG = "20 packets transmitted, 0 received, +20 errors, 100% packet loss, time 19464ms\n"


class Result:
    def __init__(self, out):
        self.out = out


@pytest.fixture(name="host")
def _host(monkeypatch):
    """Return what sets the answers of a host: lines of ping by size, and netperf's, or its error."""

    def answers(large, small=FEW, netperf=RATE, error=None):
        def run(argv, netns=None, check=True):
            if argv[0] == "ip":
                return Result('[{"dev": "eth1"}]' if "route" in argv else '[{"mtu": 1500}]')
            return Result(small if argv[argv.index("-s") + 1] == "56" else large)

        def run_cell(load, endpoints, token=""):
            assert (load["test"], load["duration"]) == ("TCP_STREAM", 0.25)
            [line] = workload.lines(load, endpoints)
            stream = {"argv": line.argv, "raw": netperf, "finished": 1.0}
            return {"error": error, "streams": [stream]}

        monkeypatch.setattr(path, "run", run)
        monkeypatch.setattr(path, "run_cell", run_cell)

    return answers


ASKED = {"name": "physical", "address": "198.18.0.2"}


def test_a_usable_path(host):
    host(SUMMARY.format(20, 0))
    assert path.check(ASKED, 12865) == {
        "path": "physical",
        "address": "198.18.0.2",
        "mtu": 1500,
        "lost_percent": 0,
        "mbit_s": 941.53,
    }


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            {"large": SUMMARY.format(0, 100), "small": SUMMARY.format(0, 100)},
            "no reply comes back. Check cable",
        ),
        (
            {"large": SUMMARY.format(4, 80), "small": SUMMARY.format(5, 75)},
            "75 % of the packets are lost",
        ),
        (
            {"large": TOO_LONG},
            "packets of the MTU 1500 do not arrive, small ones arrive. Set the MTU",
        ),
        (
            {"large": SUMMARY.format(16, 20)},
            "packets of the MTU 1500 are lost .20 %., small ones arrive. Set the MTU",
        ),
        ({"large": ""}, "packets of the MTU 1500 do not arrive"),
        (
            {"large": SUMMARY.format(20, 0), "error": "did not end within 17 s"},
            "ping works, but netperf does not get through .*Open the TCP and UDP ports 12865 to 14869",
        ),
        ({"large": SUMMARY.format(20, 0), "netperf": ""}, "netperf does not get through"),
    ],
)
def test_what_is_wrong_with_a_path(host, answers, message):
    host(**answers)
    with pytest.raises(InputError, match=f"path physical to 198.18.0.2: .*{message}"):
        path.check(ASKED, 12865)


def test_the_first_echoes_may_be_lost_while_a_switch_learns_the_flow(host, monkeypatch):
    host(SUMMARY.format(20, 0))
    ping = path.run
    echoes = []

    def run(argv, **options):
        echoes.append(argv[0])
        return (
            Result(SUMMARY.format(16, 20)) if echoes.count("ping") == 1 else ping(argv, **options)
        )

    monkeypatch.setattr(path, "run", run)
    assert path.check(ASKED, 12865)["lost_percent"] == 0
    assert echoes.count("ping") == 2


def test_one_lost_echo_is_no_reason():
    assert path.parse_ping(SUMMARY.format(19, 5)) == path.MOST_LOST


def test_where_the_payload_is_the_question_no_path_is_refused(host):
    host(TOO_LONG, small=SUMMARY.format(15, 25), error="no server")
    check = path.check(ASKED, 12865, stream=False)
    assert (check["lost_percent"], check["mbit_s"]) == (25, None)
    host(TOO_LONG, small=SUMMARY.format(0, 100))
    assert path.check(ASKED, 12865, stream=False)["lost_percent"] == path.ALL_LOST
