# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils._report.imported import worth

PLAN = {"source": "a paper", "control": "off", "profiles": {"off": {}, "on": {}}}


def trial(profile, rate, width=None, workload="a"):
    widths = {"throughput": width, "local_cpu": width, "remote_cpu": width} if width else None
    return {
        "path": "tenant_vxlan",
        "mtu": 9000,
        "workload": {"name": workload},
        "profile": profile,
        "error": None,
        "result": {
            "throughput_mbps": rate,
            "confidence_met": False if width else None,
            "confidence_width": widths,
        },
    }


def test_a_difference_is_held_against_the_widths_of_both_runs():
    # Half widths of 4 % and 3 % make 5 %.
    runs = [
        trial("off", 1000, 8),
        trial("on", 1040, 6),
        trial("off", 1000, 8, "b"),
        trial("on", 1100, 6, "b"),
    ]
    sentences = worth(PLAN, runs)
    assert sentences[0] == "imported from a paper: 4 runs; 4 missed the requested confidence"
    assert sentences[1].startswith("no run was repeated")
    assert sentences[2:] == [
        "on to off, throughput: +4.0 to +10.0 % in 2 pairs of runs; 1 of 2 is beyond what the "
        "runs' own confidence allows (±5.0 to ±5.0 %)"
    ]


def test_without_a_printed_width_nothing_is_claimed():
    sentences = worth(PLAN, [trial("off", 1000), trial("on", 2000)])
    assert sentences[-1].endswith(
        "netperf printed no confidence width, so its reliability is not known"
    )


def test_a_profile_alone_has_no_difference():
    assert (
        len(
            worth(
                PLAN,
                [trial("off", 1000, 8), {**trial("off", None), "result": {}, "error": "truncated"}],
            )
        )
        == 2
    )
