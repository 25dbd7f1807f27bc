# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first lines of a report: what was shown, in plain sentences with intervals, and what was not and why."""
from __future__ import annotations

import math

from ansible_collections.offload.lab.plugins.plugin_utils import _report_text as text

MOST = 6  # sentences on single tables; the tables have the rest
DESIGNS = {
    "on_off": "all of them on against all of them off",
    "one_at_a_time": "each one alone against all of them off: which gives the boost",
    "leave_one_out": "all but one against all of them on: which is missed",
    "full_factorial": "in all combinations: each one's effect, and which of them act together",
    "profiles": "in the profiles that the campaign names",
}


def place(table):
    """Return where a table's numbers were taken: ``TCP_STREAM over tenant_vxlan at MTU 9000``."""
    name, test = table["workload"], table["test"]
    name = test if test.lower() == name.lower() else f"{name} ({test})"
    pair = f", {table['pair']}" if table.get("pair") else ""
    mtu = f" at MTU {table['mtu']}" if table["mtu"] else ""  # a log that was imported may not say it
    return f"{name} over {table['path']}{mtu}{pair}"


def span(row):
    """Return an effect's 95 % interval in words: ``(67 to 71 %)``, ``(between 2.0 % less and 3.1 % more)``."""
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return ""
    if row["ratio"] >= 2:
        return f" ({low:.2f} to {high:.2f})"
    if low < 1 < high:
        return f" (between {text.percent(low)} less and {text.percent(high)} more)"
    near, far = sorted((low, high), key=lambda value: abs(value - 1))
    return f" ({text.percent(near)[:-2]} to {text.percent(far)})"


def effect(row, what="", than=""):
    """Return an effect in words: ``84 % more throughput than all_off (71 to 97 %)``."""
    if row["ratio"] >= 2:
        amount = f"the {what}" if what else "as much"
        other = f" {'of' if what else 'as'} {than}" if than else ""
        return f"{row['ratio']:.2f} times {amount}{other}{span(row)}"
    return " ".join(filter(None, [text.change(row["ratio"]), what, than and f"than {than}"])) + span(row)


def _demands(table, profile):
    """What the same profile did to service demand, where that was shown."""
    rows = [(quantity, row) for quantity in table["quantities"][1:] if quantity["group"].startswith("service_demand")
            for row in quantity["rows"] if row["profile"] == profile and row["verdict"] in ("better", "worse")]
    return text.listed(effect(row, quantity["label"]) for quantity, row in rows)


def _one_profile(table, quantity, row):
    """A sentence where one profile is compared with the control."""
    where, what, control = place(table), quantity["label"], quantity["control"]
    demands = _demands(table, row["profile"])
    if row["verdict"] == "unknown":
        return f"{where}: {row['label']} measured {effect(row, what, control)}; too few blocks for an interval."
    if row["verdict"] == "same":
        return (f"{where}: no difference in {what} shown between {row['label']} and {control}; measured {effect(row)}"
                f"{_could(quantity)}{'; but ' if demands else ''}{demands}.")
    return f"{where}: {row['label']} gave {effect(row, what, control)}{', with ' if demands else ''}{demands}."


def _could(quantity):
    smallest = quantity["smallest"]
    return f"; less than about {text.size(smallest)} could not have shown" if smallest else ""


def _profiles(table, quantity):
    """A sentence where several profiles are compared with the control."""
    where, what, control = place(table), quantity["label"], quantity["control"]
    shown = sorted((row for row in quantity["rows"] if row["verdict"] in ("better", "worse")),
                   key=lambda row: -abs(math.log(row["ratio"])))
    profiles = text.count(len(quantity["rows"]), "profile")
    if not shown:
        known = any(row["verdict"] == "same" for row in quantity["rows"])
        return f"{where}: none of {profiles} shown to differ from {control} in {what}" + (
            f"{_could(quantity)}." if known else "; too few blocks for a test.")
    leaders = text.listed(f"{row['label']}, {effect(row, what)}" for row in shown[:3])
    return f"{where}: {len(shown)} of {profiles} differ from {control}: {leaders}{' and others' * (len(shown) > 3)}."


def sentence(table):
    """Return ``(verdict, sentence, size)`` for a table, from its main quantity; ``size`` ranks the sentences."""
    quantity = table["quantities"][0]
    rows = [row for row in quantity["rows"] if row["ratio"]]
    if not rows:
        return "unknown", f"{place(table)}: nothing to compare with {quantity['control']}.", -1.0
    shown = [row for row in rows if row["verdict"] in ("better", "worse")]
    top = max(shown or rows, key=lambda row: abs(math.log(row["ratio"])))
    words = _one_profile(table, quantity, top) if len(rows) == 1 else _profiles(table, quantity)
    return top["verdict"], words, abs(math.log(top["ratio"])) if shown else 0.0


def by_table(tables):
    """Return the sentences ``[{"verdict", "text"}]``: one a table, or those of the largest effects, in table order."""
    found = [sentence(table) for table in tables if table["quantities"]]
    keep = sorted(range(len(found)), key=lambda number: -found[number][2])[:MOST]
    items = [{"verdict": found[number][0], "text": found[number][1]} for number in sorted(keep)]
    if len(found) > MOST:
        items.append({"verdict": "note", "text": f"These are the largest of {len(found)} comparisons; all are below."})
    return items


def answer(tables, leaders, trials):
    """Return the answer: from the attribution where there is one, else table by table; never empty."""
    items = leaders or by_table(tables)
    if items:
        return items
    why = "no trial was recorded" if not trials else "no trial gave a result that can be compared"
    return [{"verdict": "unknown", "text": f"Nothing can be said: {why}."}]


def question(plan):
    """Return what the campaign asked, in one sentence."""
    factors = [factor["name"] for factor in plan["factors"]]
    what = text.listed(factors) if 0 < len(factors) <= 8 else text.count(len(factors), "setting")
    design = DESIGNS.get(plan["design"], "compared with " + plan["control"])
    return f"What {'does' if len(factors) == 1 else 'do'} {what} do, {design}?"
