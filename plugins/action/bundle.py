# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module bundle: a campaign as an archive to share; see plugins/modules/bundle.py."""

from __future__ import annotations

import os

from ..plugin_utils._action.controller import (
    Answered,
    ControllerAction,
    Options,
    Spec,
    TaskVars,
    say,
)
from ..plugin_utils._report.bundle import write_bundle

SPEC: Spec = {
    "results": {"type": "path", "required": True},
    "output": {"type": "path"},
}


class ActionModule(ControllerAction):
    """Write the archive, and say what was replaced."""

    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        folder = os.path.abspath(options["results"])
        output = os.path.abspath(options["output"] or folder)
        result = write_bundle(folder, output, self._task.check_mode)
        replaced = [f"{count} {kind}" for kind, count in sorted(result["replaced"].items())]
        say(f"  To share: {result['archive']}")
        say(f"  Replaced: {', '.join(replaced)}")
        say(f"  Keep {result['names']} to yourself: it has the originals.")
        return dict(result)
