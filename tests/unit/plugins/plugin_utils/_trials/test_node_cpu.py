# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._observe import reading
from ansible_collections.offload.lab.plugins.plugin_utils._trials.digest import NodeCpu

STAT = "cpu  100 0 200 1000 0 0 50 0 0 0\ncpu0 100 0 200 1000 0 0 50 0 0 0\nintr 1\n"


def test_what_all_cpus_have_done():
    seconds = reading.parse_cpu(STAT, 100)
    assert (seconds["user"], seconds["system"], seconds["idle"], seconds["softirq"]) == (
        1.0,
        2.0,
        10.0,
        0.5,
    )
    assert set(reading.cpu_since_boot()["seconds"]) == set(reading.KINDS)


def trial(profile, time, busy, boot="a", steal=0.0):
    seconds = {"system": busy, "idle": time - busy, "iowait": 0.0, "steal": steal}
    return {
        "profile": profile,
        "evidence": {
            "nodes": {
                "client": {
                    "node": "node1",
                    "cpu": {"time": time, "boot_id": boot, "seconds": seconds},
                }
            }
        },
    }


def test_a_window_is_the_visits_own_and_each_of_its_trials_shows_it_once():
    cpu = NodeCpu()
    for window in [
        trial("off", 100.0, 10.0),
        trial("off", 100.0, 10.0),
        trial("on", 110.0, 15.0),
        trial("off", 120.0, 17.0, steal=5.0),
        {"profile": "on", "evidence": None},
    ]:
        cpu.see(window)
    assert cpu.rows() == [("off", "node1", "client", 1, 50.0), ("on", "node1", "client", 1, 20.0)]


def test_no_window_spans_an_interruption_or_a_reboot():
    cpu = NodeCpu()
    for window in [
        trial("off", 100.0, 10.0),
        trial("on", 9000.0, 10.0),
        trial("off", 9010.0, 1.0, boot="b"),
    ]:
        cpu.see(window)
    assert cpu.rows() == []
