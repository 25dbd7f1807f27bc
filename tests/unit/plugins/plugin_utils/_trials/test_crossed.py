# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the packets of a trial were at each end, and what counting them cost."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._trials import damage
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic

PACKETS = 2000  # of 100 MB, all of them cut by the device


def trial(combined=False, cost_s=0.002, **demand):
    ends = ["combined"] if combined else ["client", "server"]
    cpu = {"window_s": 1.0, **demand}
    return {
        "crossed": synthetic.crossed(PACKETS, cut=True, cost_s=cost_s),
        "cpu": {"combined": combined, "ends": {end: dict(cpu) for end in ends}},
    }


def devices(record, end):
    return record["crossed"][end]["devices"]


def test_each_end_of_two_kernels():
    counts = damage.counts_of(trial(service_demand_us_per_kb=1.024))
    assert counts["client"].per_mb == pytest.approx(22, rel=0.001)
    assert counts["client"].cut_per_mb == pytest.approx(20, rel=0.001)
    assert counts["client"].checksum_left == 1
    assert counts["client"].cpu_us == pytest.approx(1000 / 22, rel=0.001)
    assert counts["server"].cut_per_mb == 0


def test_both_ends_of_one_kernel_count_together():
    counts = damage.counts_of(trial(combined=True))
    assert list(counts) == ["combined"]
    assert counts["combined"].per_mb == pytest.approx(44, rel=0.001)
    assert counts["combined"].cpu_us is None


def test_ends_with_the_same_name_are_counted_once():
    record = trial(combined=True)
    both = {**devices(record, "client")["under0"], "received": PACKETS, "namespaces": 2}
    both["received_bytes"] = both["sent_bytes"]
    for end in ("client", "server"):
        record["crossed"][end]["devices"] = {f"{end}/eth0": both}
    assert damage.counts_of(record)["combined"].per_mb == pytest.approx(40, rel=0.001)
    both["namespaces"] = 3
    assert damage.counts_of(record) == {}


def test_a_device_whose_name_others_have_is_left_out():
    record = trial()
    devices(record, "client")["under0"]["namespaces"] = 7
    assert list(damage.counts_of(record)) == ["server"]


def test_the_device_that_carries_the_packets_is_the_first_with_half_of_the_bytes():
    record = trial()
    under = devices(record, "client").pop("under0")
    idle = {**under, "sent": 3, "sent_bytes": 300, "cut": 0}
    record["crossed"]["client"]["devices"] = {"idle0": idle, "a/under0": under, "a/tenant0": idle}
    assert damage.counts_of(record)["client"].cut_per_mb > 19


def test_what_gro_merged():
    record = trial()
    devices(record, "server")["under1"].update(into_gro=80000, received=2000)
    assert damage.counts_of(record)["server"].merged_per_mb == pytest.approx(780, rel=0.01)


@pytest.mark.parametrize("record", [{}, {"crossed": {}}, {"crossed": {}, "cpu": None}])
def test_a_trial_without_counts(record):
    assert damage.counts_of(record) == {} and not list(damage.costly(record, {}))


def test_too_few_bytes_say_nothing():
    record = trial()
    for end in ("client", "server"):
        for device in devices(record, end).values():
            device.update(sent_bytes=1000, received_bytes=1000)
    assert damage.counts_of(record) == {}


@pytest.mark.parametrize(("combined", "ends"), [(False, 2), (True, 1)])
def test_a_trial_whose_counters_cost_more_is_marked(combined, ends):
    marks = list(damage.costly(trial(combined, cost_s=0.012), {}))
    assert len(marks) == ends and not any(mark["excludes"] for mark in marks)
    assert marks[0]["guard"] == "counting"
    assert (
        "took about %s of the time of one CPU" % ("2.4%" if combined else "1.2%")
        in (marks[0]["reason"])
    )
    assert not list(damage.costly(trial(combined, cost_s=0.004), {}))


def test_what_the_probes_sent_becomes_part_of_the_record():
    reading = {"crossed": {"seconds": 1.0, "cost_s": 0.001, "devices": {}}}
    watched = {"client": [{}, reading], "server": [{}, {}]}
    assert damage.crossed_of(watched) == {"client": reading["crossed"]}
