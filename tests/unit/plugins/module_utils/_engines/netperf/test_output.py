# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine netperf reads what our trials print, and no other format of netperf."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import ParseError
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import engine_named
from ansible_collections.offload.lab.plugins.module_utils._engines.netperf.output import (
    parse_output,
)
from ansible_collections.offload.lab.plugins.plugin_utils._netperf_logs.parse import parse_netperf

ARGV = ["netperf", "-H", "198.18.0.2,4", "-t", "TCP_STREAM", "-l", "10"]
BANNER = "MIGRATED TCP STREAM TEST from 198.18.0.1 () port 0 AF_INET to 198.18.0.2 () port 12870 AF_INET\n"
INTERIM = (
    "NETPERF_INTERIM_RESULT[0]=941.37\n"
    "NETPERF_UNITS[0]=10^6bits/s\n"
    "NETPERF_INTERVAL[0]=1.000\n"
    "NETPERF_ENDING[0]=1795253945.485\n"
)
RESULT = "THROUGHPUT=941.50\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=10.00\n"
TEXT = BANNER + INTERIM + RESULT


def rows(text):
    return engine_named("netperf").rows(ARGV, text)


def test_a_trial_has_its_result_and_its_interim_results():
    (row,) = rows(TEXT)
    assert row["throughput_mbps"] == 941.5
    assert row["parts"] == [(1795253944.485, 1795253945.485, 941.37)]


@pytest.mark.parametrize(
    "text, message",
    [
        (BANNER, "truncated before its result"),
        (BANNER + "netperf: send_omni: send_data failed: Message too long\n", "Message too long"),
        (BANNER + " 87380  16384  16384    10.00     941.50\n", "truncated before its result"),
        ("", "0 results"),
        (TEXT + TEXT, "2 results"),
    ],
)
def test_any_other_text_is_no_result(text, message):
    with pytest.raises(ParseError, match=message):
        rows(text)


@given(st.integers(0, len(TEXT)))
def test_a_text_that_breaks_off_is_read_as_in_a_log(length):
    assert parse_output(TEXT[:length]) == parse_netperf(TEXT[:length])
