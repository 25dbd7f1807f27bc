# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module visit: set the profile, send the cells to the client, record each trial."""

from __future__ import annotations

import os
import shlex
from typing import Any

from ansible import constants
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ..module_utils._base.errors import LabError
from ..module_utils._load.spec import SPEC, STEP
from ..plugin_utils._action.controller import Answered, Options, TaskVars, say, warn
from ..plugin_utils._action.measure_role import MeasureRole
from ..plugin_utils._action.shared_results import SharedResults
from ..plugin_utils._campaign import loop
from ..plugin_utils._paths.path import Pair
from ..plugin_utils._trials.measure import Measurement
from ..plugin_utils._trials.nouns import CellToMeasure

STRUCK = (
    "a path stopped answering"  # in a message of module ethtool: the earlier profile is the cause
)
COUNTS = ("measured", "failed_trials", "marked", "skipped_trials", "collected")
NEEDS = {
    "mutually_exclusive": [("plan", "cells", "step")],
    "required_one_of": [("plan", "cells", "step")],
    "required_together": [("block", "visit")],
    "required_by": {"block": ("plan", "endpoints")},
}


class ActionModule(ActionBase):
    """Run a step of a campaign, or measure a visit or a list of cells."""

    def run(self, tmp: str | None = None, task_vars: TaskVars | None = None) -> Answered:
        result: Answered = super().run(tmp, task_vars)
        self._warnings: list[Any] = []  # of the module; Ansible wants them back unchanged
        self._variables: TaskVars = task_vars or {}
        _checked, options = self.validate_argument_spec({**SPEC, **STEP}, **NEEDS)
        options["client"] = options["client"] or self._variables.get("inventory_hostname", "client")
        try:
            if options["step"]:
                result.update(self._make(options["step"], options))
            else:
                result.update(self._measured(options))
            result["warnings"] = result.get("warnings", []) + self._warnings
        except LabError as error:
            # Do not raise the error: Ansible would then ignore failed_when.
            result.update(failed=True, msg=str(error))
        return result

    def _published(
        self, role: MeasureRole, step: loop.VisitStep, shared: SharedResults, ready: list[str]
    ) -> Answered:
        """Set the profile of this host, and tell the workers of the others what became of it."""
        result: Answered = {}
        try:
            result = self._applied(step, role) if ready else {"skipped": True}
        finally:
            shared.publish(role.name, result)
        return result

    def _make(self, step: loop.VisitStep, options: Options) -> Answered:
        """Run a step: set the profile of this host, measure with its partners, or both."""
        role = MeasureRole(self._templar, self._variables)
        shared = SharedResults(constants.DEFAULT_LOCAL_TMP, self._task._uuid)
        ready = role.partners()
        result = self._published(role, step, shared, ready) if loop.applies(step) else {}
        awaited = loop.awaited(role.member, role.playing)
        hosts = {name: role.applied(name) for name in awaited}
        pairs = loop.pairs_now(step, role.name, ready) if loop.measures(step) else []
        if not pairs or result.get("failed"):
            return result or {"skipped": True}
        if loop.applies(step):
            hosts.update(shared.wait_for(awaited))
            ready = loop.partners(role.member, loop.in_order(hosts))
            pairs = loop.pairs_now(step, role.name, ready)
        hosts[role.name] = loop.applied_by(result) or role.applied(role.name)
        measured = self._measure_pairs(step, role, pairs, hosts, options)
        changed = result.get("changed", False) or measured.get("changed", False)
        return {**result, **measured, "changed": changed}

    def _applied(self, step: loop.VisitStep, role: MeasureRole) -> Answered:
        """Set the profile of a step at this host; return the result of module ethtool."""
        arguments = loop.profile_arguments(
            role.work(step), role.member, role.devices(), role.snapshot()
        )
        answer = self._ethtool(arguments)
        if answer.get("failed") and STRUCK in str(answer.get("msg")):
            answer = self._ethtool(arguments)  # this change repairs the path
        self._warnings += answer.pop("warnings", None) or []
        return answer

    def _ethtool(self, arguments: loop.Arguments) -> Answered:
        answer: Answered = self._execute_module(
            module_name="offload.lab.ethtool", module_args=arguments, task_vars=self._variables
        )
        return answer

    def _measure_pairs(
        self,
        step: loop.VisitStep,
        role: MeasureRole,
        pairs: list[Pair],
        hosts: dict[str, loop.Applied | None],
        options: Options,
    ) -> Answered:
        """Measure with one server after the other; a failure with one does not stop the others."""
        work = role.work(step)
        summaries: dict[str, Answered] = {}
        errors = []
        for pair in pairs:
            ends = (pair["client"], pair["server"])
            measuring = {
                name: role.host(name, hosts) for name in loop.hosts_needed(work.plan, ends)
            }
            arguments = loop.visit_options(work, role.conditions(), ends, measuring)
            try:
                summaries[pair["server"]] = self._measured(_checked(arguments, options))
            except LabError as error:
                errors.append(str(error))
        if errors:
            raise LabError("; ".join(errors))
        return _all_of(summaries)

    def _measured(self, options: Options) -> Answered:
        memory = constants.DEFAULT_LOCAL_TMP
        work = Measurement(options, say, warn, self._task.check_mode, memory)
        with work.locked():
            return self._measure(work, options)

    def _measure(self, work: Measurement, options: Options) -> Answered:
        if self._task.check_mode:
            return self._call(work, work.todo(), options, collect=False)
        if options["collect"]:
            self._record(work, self._call(work, [], options, collect=True), options)
        for chunks in (work.chunks, work.chunks_again):  # repeats follow the record of the others
            for chunk in chunks():
                work.hold()
                answer = self._call(work, chunk, options, collect=False)
                self._record(work, answer, options)
        return work.summary()

    def _call(
        self,
        work: Measurement,
        cells: list[CellToMeasure],
        options: Options,
        collect: bool,
    ) -> Answered:
        """Run the module once on the client; raise LabError where it fails."""
        arguments = {
            "cells": [work.sent(cell) for cell in cells],
            "campaign": work.key,
            "collect": collect,
            "spool": options["spool"],
            "chunk": work.chunk_name(cells) if work.records else None,
            "probe": None if collect else options["probe"],
            "forwarder": None if collect else options["forwarder"],
            "watch": work.sights["watch"],
            "sampling": None if collect or work.seen else work.sights["sampling"],
            "reach": work.reach(cells, collect),
            "engines": work.engines(cells),
            "token": options["token"],
        }
        answer: Answered = self._execute_module(
            module_name="offload.lab.visit", module_args=arguments, task_vars=self._variables
        )
        if answer.get("failed"):
            raise LabError(answer.get("msg", "the module failed"))
        self._warnings += answer.pop("warnings", None) or []
        return answer

    def _record(self, work: Measurement, answer: Answered, options: Options) -> None:
        """Record the trials of an answer, then remove them from the spool of the client."""
        names = work.record(answer)
        if names:
            paths = [os.path.join(options["spool"], os.path.basename(name)) for name in names]
            self._low_level_execute_command(
                "rm -f -- " + " ".join(shlex.quote(path) for path in paths)
            )


def _checked(arguments: loop.Arguments, options: Options) -> Options:
    """Return the options of module visit for a step, with all defaults."""
    parameters = {**arguments, "chunks": options["chunks"], "spool": options["spool"]}
    checked = ArgumentSpecValidator(SPEC).validate(parameters)
    if checked.error_messages:
        raise LabError(checked.error_messages[0], "module visit")
    validated: Options = checked.validated_parameters
    return validated


def _all_of(summaries: dict[str, Answered]) -> Answered:
    """Return the result of a step from the summaries of its pairs, by server."""
    if not summaries:
        return {}
    *_others, last = summaries.values()
    if len(summaries) == 1:
        return last
    counts = dict.fromkeys(COUNTS, 0)
    for summary in summaries.values():
        for key in COUNTS:
            counts[key] += summary[key]
    changed = any(summary["changed"] for summary in summaries.values())
    return {**last, **counts, "changed": changed, "servers": summaries}
