# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the line that tells how far a campaign is."""
from __future__ import annotations

VISIT_SECONDS = 2.0  # what applying a profile costs beside the measuring; a rough guess is enough for a time left


def rate_text(result):
    """Return the headline of a trial: ``9.41 Gbit/s`` or ``21100 trans/s``; without a result what went wrong."""
    throughput, transactions = result.get("throughput_mbps"), result.get("transactions_per_s")
    if throughput:
        return f"{throughput / 1000:.2f} Gbit/s" if throughput >= 1000 else f"{throughput:.1f} Mbit/s"
    if transactions:
        return f"{transactions:.0f} trans/s"
    return "no result"


def time_text(seconds):
    """Return a duration as people say it: ``40 s left``, ``12 min left``, ``3 h 5 min left``."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{max(0, round(seconds))} s left"
    return f"{minutes} min left" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min left"


def seconds_left(visits, known, cell_seconds):
    """Return the seconds until a plan is measured: its cells that are not ``known`` (ids), and its visits with any."""
    left = 0.0
    for visit in visits:
        missing = [cell for cell in visit["cells"] if cell["id"] not in known]
        left += sum(cell_seconds(cell) for cell in missing) + (VISIT_SECONDS if missing else 0)
    return left


def progress_line(planned, visit, done, last, left):
    """Return ``block 3/10 visit 4/12 [tso=off] cells 20/40, 9.41 Gbit/s, 12 min left``.

    ``planned`` are the visits of the campaign, ``done`` of the cells of this visit are recorded, ``last`` is the newest
    result, ``left`` is in seconds. The blocks of a confirmation go on from the last one.
    """
    blocks = max(other["block"] for other in planned)
    visits = sum(1 for other in planned if (other["block"], other["mtu"]) == (visit["block"], visit["mtu"]))
    mtu = f" MTU {visit['mtu']}" if len({other["mtu"] for other in planned}) > 1 else ""
    if visit.get("again"):
        return (f"block {visit['block']}/{blocks}{mtu} [{visit['profile']}] measured again: {done} that the machine "
                f"had spoilt, {rate_text(last)}, {time_text(left)}")
    return (f"block {visit['block']}/{blocks} visit {visit['visit']}/{visits}{mtu} [{visit['profile']}] "
            f"cells {done}/{len(visit['cells'])}, {rate_text(last)}, {time_text(left)}")
