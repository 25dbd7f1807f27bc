# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One mutated input through one parser: rows or the project's typed error, within a bound of CPU
time.
"""

from __future__ import annotations

import json
import signal

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError

SECONDS = 2  # of CPU time for one input; the slowest real sample takes milliseconds


class HangError(Exception):
    """The parser did not end in time."""


def _expired(_signal, _frame):
    raise HangError("too much CPU time")


def try_one(parse, text, seconds=SECONDS):
    """Return ``rows`` or ``error``; anything else that a parser does is raised.

    Rows are plain values, which JSON can hold and a report can show.
    """
    signal.signal(signal.SIGVTALRM, _expired)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        rows = parse(text)
    except LabError:
        return "error"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    json.dumps(rows)
    return "rows"
