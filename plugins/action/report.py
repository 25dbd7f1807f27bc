# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module report: the report of a campaign, made on the controller; see plugins/modules/report.py."""
from __future__ import annotations

import os

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.campaign.chosen import places, results_folder
from ansible_collections.offload.lab.plugins.plugin_utils.live import refresh
from ansible_collections.offload.lab.plugins.plugin_utils.report.report import make_report

SPEC = {
    "results": {"type": "path"},
    "campaign": {"type": "dict"},
    "campaign_file": {"type": "path"},
    "overrides": {"type": "dict", "default": {}},
    "results_dir": {"type": "path", "default": "results"},
    "live": {"type": "str", "choices": ["refresh", "end"]},
}
MOST_TABLE = 20000  # characters of the table in the task's result: an event must stay small


class ActionModule(ActionBase):
    """Make the report and return where it is, its headline and its table."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _checked, arguments = self.validate_argument_spec(SPEC)
        if arguments["live"]:
            return dict(result, **self._live(arguments))
        try:
            made = make_report(self._folder(arguments), check=self._task.check_mode)
        except LabError as error:
            raise AnsibleActionFail(str(error))
        report = made["files"]["report.html"]
        for line in [*made["table"].splitlines(), "", f"Report: {report}"]:
            Display().display(f"  {line}")
        if not self._task.diff:
            made.pop("diff")
        result.update(made, table=made["table"][:MOST_TABLE], report=report)
        return result

    def _live(self, arguments):
        """See to the report of a running campaign. Whatever is wrong with it, the campaign goes on."""
        try:
            done = {"refresh": refresh.refresh, "end": refresh.end}[arguments["live"]](self._folder(arguments))
        except Exception as error:  # whatever it is, hours of measuring are worth more
            done = {"made": False, "line": f"no live report: {error}"}
        Display().display(f"  {done['line']}")
        return {"changed": False, **done}

    def _folder(self, arguments):
        """Return the results folder of the campaign that is asked for."""
        if arguments["results"]:
            return os.path.abspath(arguments["results"])
        return results_folder(arguments, places(self._loader.get_basedir()))
