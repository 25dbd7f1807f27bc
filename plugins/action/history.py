# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module history: many campaigns as one page; see plugins/modules/history.py."""
from __future__ import annotations

import os

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.history.folders import documents, history_of
from ansible_collections.offload.lab.plugins.plugin_utils.history.page import answer
from ansible_collections.offload.lab.plugins.plugin_utils.trials.files import write_changed

SPEC = {"results": {"type": "list", "elements": "path", "required": True}, "output": {"type": "path", "required": True}}


class ActionModule(ActionBase):
    """Find the campaigns, look for changes, write the page."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _checked, arguments = self.validate_argument_spec(SPEC)
        try:
            found = history_of(arguments["results"])
            changed = write_changed(os.path.abspath(arguments["output"]), documents(found), self._task.check_mode)
        except LabError as error:
            raise AnsibleActionFail(str(error))
        for item in answer(found):
            Display().display(f"  {item['text']}")
        changes = [{key: change[key] for key in ("campaign", "number", "p")} for change in found["changes"]]
        result.update(changed=bool(changed), campaigns=len(found["campaigns"]), output=arguments["output"],
                      changes=changes)
        return result
