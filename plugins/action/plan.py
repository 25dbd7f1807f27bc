# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module plan: a campaign becomes a plan on the controller; see
plugins/modules/plan.py.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence

from ..module_utils._base.errors import InputError
from ..module_utils._load.spec import SPEC as VISIT
from ..plugin_utils._action.controller import (
    Answered,
    ControllerAction,
    Options,
    Spec,
    TaskVars,
    say,
)
from ..plugin_utils._analysis.cube import scatter_of
from ..plugin_utils._analysis.spend import before_the_first
from ..plugin_utils._campaign import forwarding
from ..plugin_utils._campaign.campaign_file import checked_campaign
from ..plugin_utils._campaign.chosen import IN_RESULTS, OWN_PATHS, search_folders
from ..plugin_utils._campaign.design import make_plan
from ..plugin_utils._campaign.dry_run import describe, time_plan, warnings_of
from ..plugin_utils._campaign.forwarding import lacking
from ..plugin_utils._campaign.nouns import Between, Campaign, Plan
from ..plugin_utils._campaign.pace import pace_of, summary
from ..plugin_utils._campaign.plan_file import (
    differences,
    paths_of,
    read_current_plan,
    read_plan,
    with_defaults_of_plan,
    write_plan,
)
from ..plugin_utils._lab import guests, lab_node
from ..plugin_utils._paths.lab_paths import OwnPath
from ..plugin_utils._paths.own_paths import Walked, walked_of
from ..plugin_utils._paths.path import CampaignHost, Pair
from ..plugin_utils._request.discovered import disturbance_lines
from ..plugin_utils._request.fixed import (
    DevicesAndFeatures,
    warnings,
    with_as_found,
    without_fixed,
)
from ..plugin_utils._statistics.effects import Scatter
from ..plugin_utils._statistics.libraries import preload
from ..plugin_utils._trials.records import stream_records

preload()  # a campaign's later tasks need it, too

SPEC: Spec = {
    **IN_RESULTS,
    **OWN_PATHS,
    "lab_mtu": {"type": "int"},
    "engine": {"type": "str"},
    "chunk_seconds": {"type": "int", "default": VISIT["chunk_seconds"]["default"]},
    "stored": {"type": "bool", "default": False},
    "scatter_from": {"type": "path"},
    "classes": {"type": "list", "elements": "dict", "default": []},
    "readings": {"type": "list", "elements": "dict", "default": []},
}


class ActionModule(ControllerAction):
    """Make the plan, keep it in plan.json, and return what the loop over visits needs."""

    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        homes = guests.homes_of(task_vars.get("groups", {}), task_vars.get("hostvars", {}))
        between = lab_node.forwarders_of(task_vars.get("groups", {}))
        hosts = lab_node.without_forwarders(task_vars.get("ansible_play_hosts_all", ()), between)
        playing = guests.measuring(hosts, homes)
        campaign, where, lab_mtu = checked_campaign(
            options, search_folders(self._loader.get_basedir()), playing, options["lab_mtu"]
        )
        folder = os.path.join(os.path.abspath(options["results_dir"]), campaign["name"])
        path = os.path.join(folder, "plan.json")
        old = read_plan(path)
        nodes = list(zip(options["classes"], options["readings"]))
        campaign = _prepared(campaign, old, nodes, options["scatter_from"])
        forwards = forwarding.between(between, task_vars.get("hostvars", {}))
        plan = _planned(campaign, forwards, options["own_paths"])
        if old is not None:
            _refuse_other_plan(old, plan, path)
            old = _with_own_paths(old, plan, path)
        fixed = list(warnings(campaign, nodes))
        lines = describe(plan, lab_mtu) + [f"warning: {text}" for text in fixed]
        if self._task.check_mode:
            lines += time_plan(plan, self._scatter(options["scatter_from"] or folder))
        _say_all([*lines, *_disturbed(plan, hosts, task_vars)])
        if old is None and not self._task.check_mode:
            write_plan(path, plan)
        kept = old or plan
        pairs = plan["pairs"] or guests.first_pair(playing)
        pace = pace_of(kept, options["chunk_seconds"], stored=options["stored"])
        return dict(
            summary(kept, folder),
            **pace,
            measuring=pairs,
            servers_are_shared=_share_servers(pairs),
            members=_members(plan, lab_node.members_with_forwarders(pairs, homes, between)),
            homes=homes,
            forwarder=forwarding.host_of(plan),
            changed=old is None,
            warnings=[*warnings_of(plan), *fixed],
            diff={} if old else _diff(campaign),
            msg=f"{where}: {len(plan['visits'])} visits",
        )

    @staticmethod
    def _scatter(folder: str) -> Scatter | None:
        """Return what the trials of an earlier campaign scattered, None where there is none."""
        plan = read_current_plan(os.path.join(folder, "plan.json"))
        record = os.path.join(folder, "trials.jsonl")
        return (
            scatter_of(plan, stream_records(record, []))
            if plan and os.path.exists(record)
            else None
        )


def _members(plan: Plan, members: dict[str, CampaignHost]) -> dict[str, CampaignHost]:
    """Return the members, each without the device classes that its existing paths lack."""
    for host, classes in lacking(plan, paths_of(plan)).items():
        if host in members:
            members[host]["elsewhere"] += classes
    return members


def _share_servers(pairs: Sequence[Pair]) -> bool:
    """Return whether two pairs have one server."""
    return len({pair["server"] for pair in pairs}) < len(pairs)


def _diff(campaign: Campaign) -> dict[str, str]:
    """Return the diff of a new plan: the campaign as text."""
    return {"before": "", "after": json.dumps(campaign, indent=2, sort_keys=True)}


def _prepared(
    campaign: Campaign,
    old: Plan | None,
    nodes: Sequence[DevicesAndFeatures],
    scatter_from: str | None,
) -> Campaign:
    """Return the campaign with what an earlier plan, the devices and an earlier scatter decide."""
    campaign = with_defaults_of_plan(campaign, old) if old else campaign
    campaign = without_fixed(campaign, nodes, old and old["untestable"])
    campaign = with_as_found(campaign, nodes, old)
    if campaign["lengths"] and scatter_from and old is None:
        return _with_length(campaign, scatter_from)
    return campaign


def _say_all(lines: Iterable[str]) -> None:
    for line in lines:
        say(f"  {line}")


def _disturbed(plan: Plan, hosts: Iterable[str], task_vars: TaskVars) -> list[str]:
    """Return what a campaign does to an existing network."""
    walked: dict[str, Walked] = {}
    for node in hosts:
        node_walked = walked_of(task_vars.get("hostvars", {}).get(node, {}))
        if node_walked:
            walked[node] = node_walked
    return disturbance_lines(plan, walked)


def _with_length(campaign: Campaign, folder: str) -> Campaign:
    """Return a campaign with the length of cells that the scatter of an earlier one suggests."""
    earlier = read_current_plan(os.path.join(folder, "plan.json"))
    record = os.path.join(folder, "trials.jsonl")
    if earlier is None or not os.path.exists(record):
        raise InputError(
            "there is no plan and record of an earlier campaign",
            f"scatter_from {folder}",
            "Give its results folder.",
        )
    plan = make_plan(campaign, "")
    return before_the_first(campaign, plan, earlier, stream_records(record, []))


def _planned(campaign: Campaign, between: Between | None, existing: Mapping[str, OwnPath]) -> Plan:
    """Return the plan of a campaign that is made now."""
    plan = make_plan(campaign, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    existing_used = {name: existing[name] for name in campaign["paths"] if name in existing}
    if existing_used:
        plan["own_paths"] = existing_used
    if between:
        plan["forwarder"] = between
    return plan


def _with_own_paths(old: Plan, new: Plan, path: str) -> Plan:
    """Return the plan of an earlier version with its paths, which it has to carry to go on."""
    if "encapsulations" not in old or "own_paths" not in new:
        return old
    upgraded: Plan = {**old, "own_paths": new["own_paths"]}
    del upgraded["encapsulations"]
    write_plan(path, upgraded)
    return upgraded


def _refuse_other_plan(old: Plan, new: Plan, path: str) -> None:
    differing = differences(old, new)
    if differing:
        raise InputError(
            f"the results folder has another plan ({'; '.join(differing)})",
            path,
            "Give the campaign another name, or move the folder away.",
        )
