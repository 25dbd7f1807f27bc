# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""recommended.yml: variables for playbooks/apply.yml, the evidence of each setting beside it as a comment."""
from __future__ import annotations

import json
import re

from ansible_collections.offload.lab.plugins.plugin_utils import _report_advice as advice

PLAIN = re.compile(r"[A-Za-z][\w./-]*\Z")  # of these only words that YAML reads as a bool or null need quotes
READ_AS_SOMETHING_ELSE = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
HEAD = """\
---
# The settings that the evidence of campaign {name} supports, as offload.lab found it. They hold for the hosts, drivers
# and workloads that were measured, and for no others.
#
#     ansible-playbook -i INVENTORY offload.lab.apply -e @recommended.yml
#     ansible-playbook -i INVENTORY offload.lab.restore
#
"""
BEHIND = """\
# Strongest ratio for each goal with its 95 % interval, against the other level of the setting; settings that were
# measured together, against {control}:
#
"""


def _scalar(value):
    if isinstance(value, str) and PLAIN.match(value) and value.lower() not in READ_AS_SOMETHING_ELSE:
        return value
    return json.dumps(value)


def _lines(data, indent=0):
    """Return YAML lines of nested mappings."""
    lines = []
    for key, value in data.items():
        start = f"{'  ' * indent}{_scalar(key)}:"
        lines += [start, *_lines(value, indent + 1)] if isinstance(value, dict) and value else [
            f"{start} {_scalar(value)}"]
    return lines


def _comments(found, plan, untestable):
    """Return the evidence of each setting, and what else is to be known of them, as comments."""
    lines = []
    for settings, goals in advice.by_setting(found).items():
        lines += [f"{factor}={level}" for factor, level in settings]
        lines += [f"  {words}" for words in advice.helps(goals)]
    head = BEHIND.format(control=plan["control"]) if lines else ""
    lines += [""] * bool(lines) + advice.notes(found, untestable)
    return head + "".join(f"# {line}".rstrip() + "\n" for line in lines)


def drivers(manifest):
    """Return ``{node: {underlay device: driver}}``: where the settings may be applied."""
    found = {}
    for node, parts in ((manifest or {}).get("nodes") or {}).items():
        before = parts.get("before") or {}
        found[node] = dict((name, ((before.get("devices") or {}).get(name, {}).get("driver") or {}).get("driver"))
                           for name in before.get("links") or {})
    return found


def recommended(findings, plan, manifest):
    """Return the content of recommended.yml."""
    found = findings["recommendations"]
    settings = dict((end, found["settings"].get(end) or {}) for end in ("client", "server"))
    data = {"offload_lab_recommended": {"campaign": plan["name"], "drivers": drivers(manifest), **settings}}
    comments = HEAD.format(name=plan["name"]) + _comments(found, plan, findings["untestable"])
    return comments + "\n".join(_lines(data)) + "\n"
