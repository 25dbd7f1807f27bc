# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module request: what is asked for is checked on the controller; see
plugins/modules/request.py.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.utils.vars import load_extra_vars

from ..plugin_utils._action.controller import (
    Answered,
    ControllerAction,
    Options,
    Spec,
    TaskVars,
    say,
)
from ..plugin_utils._campaign.campaign_file import checked_campaign
from ..plugin_utils._campaign.chosen import IN_RESULTS, OWN_PATHS, search_folders
from ..plugin_utils._campaign.design import make_plan
from ..plugin_utils._campaign.forwarding import left_out
from ..plugin_utils._campaign.nouns import Campaign
from ..plugin_utils._lab import guests, lab_node
from ..plugin_utils._paths.lab_paths import with_own
from ..plugin_utils._paths.path import FORWARDER
from ..plugin_utils._request import campaign as campaign_checks
from ..plugin_utils._request import engines
from ..plugin_utils._request import hosts as host_checks
from ..plugin_utils._request import variables as variable_checks
from ..plugin_utils._request.variables import Problem

ROLES = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "roles")
SPEC: Spec = {
    "group": {"type": "str", "default": "lab_nodes"},
    **IN_RESULTS,
    **OWN_PATHS,
    "engine": {"type": "str", "default": "netperf"},
    "campaign_required": {"type": "bool", "default": False},
    "readings": {"type": "dict", "default": {}},
    "names_only": {"type": "bool", "default": False},
}
EXTRA_VARIABLES = "extra variables (-e)"


class ActionModule(ControllerAction):
    """Say all that is wrong, and fail with the first of it."""

    SPEC = SPEC
    campaign: Campaign | None = None  # that is asked for, as far as it was read

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        problems = variable_checks.merged(self._found(options, task_vars))
        if problems:
            for problem in problems[1:]:
                say(f"  {problem}")
            more = f" {len(problems) - 1} more above." if problems[1:] else ""
            raise AnsibleActionFail(f"{problems[0]}{more}")
        return (
            {} if options["names_only"] else self._engines(options["engine"], task_vars)._asdict()
        )

    def _engines(self, engine: str, task_vars: TaskVars) -> engines.Engines:
        between = lab_node.forwarders_of(task_vars["groups"])
        ends = lab_node.without_forwarders(task_vars["ansible_play_hosts_all"], between)
        nodes = [task_vars["hostvars"][node] for node in ends]
        has_lab = not all(node.get(f"{variable_checks.PREFIX}ends") for node in nodes)
        return engines.engines_needed(engine, self.campaign, has_lab)

    def _found(self, options: Options, task_vars: TaskVars) -> Iterable[Problem]:
        if options["names_only"]:
            return self._unknown_names(task_vars)
        if options["readings"]:
            readings: Mapping[str, host_checks.Reading] = options["readings"]
            programs = [reading["programs"] for reading in readings.values()]
            options["engine"] = engines.available(options["engine"], programs)
            return self._nodes_read(options, task_vars)
        return self._problems(options, task_vars)

    def _unknown_names(self, task_vars: TaskVars) -> Iterator[Problem]:
        """Yield the unknown names in extra variables, then in the variables of the controller and
        all hosts.
        """
        spec = variable_checks.known_variables(ROLES)
        extra = set(load_extra_vars(self._loader))
        yield from variable_checks.unknown_names(EXTRA_VARIABLES, extra, spec)
        for host in ("localhost", *task_vars["groups"]["all"]):
            names = set(task_vars["hostvars"][host]) - extra
            yield from variable_checks.unknown_names(host, names, spec)

    def _problems(self, arguments: dict[str, Any], task_vars: TaskVars) -> Iterator[Problem]:
        homes = guests.homes_of(task_vars["groups"], task_vars["hostvars"])
        group = [*task_vars["groups"].get(arguments["group"], ()), *homes]
        spec = variable_checks.known_variables(ROLES)
        for node in [*group, *lab_node.forwarders_of(task_vars["groups"])]:
            variables = task_vars["hostvars"][node]
            yield from variable_checks.unknown_names(node, variables, spec)
            yield from variable_checks.wrong_values(node, _values(variables), spec)
        if _has_campaign(arguments):
            yield from self._campaign_problems(arguments, task_vars, group, homes)

    def _campaign(
        self, arguments: dict[str, Any], playing: list[str], own_mtu: int | None = None
    ) -> Campaign:
        folders = search_folders(self._loader.get_basedir())
        self.campaign = checked_campaign(arguments, folders, playing, own_mtu).campaign
        return self.campaign

    def _campaign_problems(
        self,
        arguments: dict[str, Any],
        task_vars: TaskVars,
        group: list[str],
        homes: dict[str, str],
    ) -> Iterator[Problem]:
        between = lab_node.forwarders_of(task_vars["groups"])
        hosts = task_vars["ansible_play_hosts_all"]
        hostvars = task_vars["hostvars"]
        there = lab_node.without_forwarders(hosts, between)
        playing = guests.measuring(there, homes)
        campaign = self._campaign(arguments, playing)
        make_plan(campaign, "")
        if arguments["campaign_required"]:  # a lab that is only built keeps no results
            yield from _wrong_folder(os.path.abspath(arguments["results_dir"]))
        wrong = list(campaign_checks.wrong_nodes(campaign, there, group, homes))
        yield from wrong
        yield from campaign_checks.wrong_forwarder(campaign, between)
        if not wrong:
            pairs = campaign_checks.pairs_of(campaign, playing)
            paths = with_own(arguments["own_paths"])
            nodes = dict.fromkeys(itertools.chain.from_iterable(pairs))
            ends = [(host, FORWARDER) for host in between]
            for client, server in pairs:
                ends += [(client, "client"), (server, "server")]
            for host, end in dict.fromkeys(ends):
                values = _values(hostvars[host])
                yield from campaign_checks.wrong_commands(campaign, host, end, values)
            for node in nodes:
                values = _values(hostvars[node])
                yield from (
                    campaign_checks.wrong_guests(campaign, node, homes[node], values)
                    if node in homes
                    else campaign_checks.wrong_paths(campaign, node, values, paths)
                )

    def _nodes_read(self, arguments: dict[str, Any], task_vars: TaskVars) -> list[Problem]:
        """Show what was read of the nodes as a table, and return what is wrong in it."""
        homes = guests.homes_of(task_vars["groups"], task_vars["hostvars"])
        between = lab_node.forwarders_of(task_vars["groups"])
        campaign = None
        if _has_campaign(arguments):
            hosts = lab_node.without_forwarders(task_vars["ansible_play_hosts_all"], between)
            own_mtu = _own_mtu(arguments["readings"], task_vars["hostvars"])
            campaign = self._campaign(arguments, guests.measuring(hosts, homes), own_mtu)
        needed = self._engines(arguments["engine"], task_vars).needed
        readings: dict[str, host_checks.Reading] = arguments["readings"]
        requests = {
            node: host_checks.wanted_of(
                _values(task_vars["hostvars"][node]),
                campaign if arguments["campaign_required"] else None,
                node in homes,
                needed,
                node in between,
                tests_path=campaign is not None and engines.tests_path(campaign),
            )
            for node in readings
        }
        rows: list[host_checks.CheckRow] = []
        for node, reading in readings.items():
            rows += host_checks.judge(node, reading, requests[node])
        if campaign:
            lacked = left_out(campaign, with_own(arguments["own_paths"]))
            rows += [
                host_checks.CheckRow(node, "path", host_checks.NOTE, text)
                for node, text in lacked.items()
            ]
        rows += host_checks.apart(readings, requests, time.time())
        for line in host_checks.table(rows):
            say(f"  {line}")
        return host_checks.problems(rows)


def _has_campaign(arguments: Mapping[str, Any]) -> bool:
    """Return whether a campaign is given, or must be."""
    campaign = arguments["campaign"] or arguments["campaign_file"]
    return bool(arguments["campaign_required"] or campaign)


def _own_mtu(
    readings: Mapping[str, host_checks.Reading], hostvars: Mapping[str, Any]
) -> int | None:
    """Return the MTU of an existing network's underlay, in bytes; None in a lab."""
    for node, reading in readings.items():
        values = _values(hostvars[node])
        link = reading["links"].get(values.get(f"{variable_checks.PREFIX}underlay_device", ""))
        if link and values.get(f"{variable_checks.PREFIX}ends"):
            return link["mtu"]
    return None


def _wrong_folder(path: str) -> Iterator[Problem]:
    """Yield why no results can be kept in a folder, which may not be there yet."""
    there = path
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        yield Problem(f"results_dir {path}", f"{there} is no folder. Give another one.")
    elif not os.access(there, os.W_OK | os.X_OK):
        yield Problem(
            f"results_dir {path}", f"you may not write to {there}. Give a folder you may write to."
        )


def _values(variables: Mapping[str, Any]) -> Answered:
    """Return the lab's variables of a node, without those whose templates need facts that are not
    read yet.
    """
    values = {}
    for name in variables:
        if str(name).startswith(variable_checks.PREFIX):
            with contextlib.suppress(AnsibleError):
                values[name] = variables[name]
    return values
