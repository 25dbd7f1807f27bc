# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of netperf, of every version and format from 2.4 to 2.7, as dictionaries. Pure.

:mod:`.scan` has the text and the run being read, :mod:`.banner` what stands around
results, :mod:`.classic` the tables, :mod:`.details` what -v adds to them or leaves of
them, :mod:`.omni` the output by selectors, :mod:`.values` the keys of the result.
"""

from __future__ import annotations

from . import banner, classic, details, omni
from .scan import Scan
from .values import Row, entry

# Each reads what it knows in the line reached and moves on, or leaves the line to the next one.
READERS = (
    classic.read_row,
    banner.read_banner,
    omni.read_keyval,
    banner.read_interim,
    banner.read_confidence,
    classic.read_header,
    details.read_details,
    omni.read_csv,
    omni.read_csv_row,
    omni.read_human,
    details.read_bare,
    banner.read_error,
    classic.read_other,
)


def parse_netperf(text: str) -> list[Row]:
    """Return one dictionary a run, in the order of the text; the filter's documentation has all its
    keys and units.

    The text may hold any number of runs, and anything between them. A run that broke off, or
    failed, has an ``error`` and no numbers. It accepts any text.
    """
    scan = Scan(text)
    while scan.at < len(scan.lines):
        if not scan.text.strip():
            scan.at += 1
            continue
        for reader in READERS:
            if reader(scan):
                break
    return [entry(run) for run in scan.runs]
