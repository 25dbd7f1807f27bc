# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module results_store: fetches, locks and pushes results; see
plugins/modules/results_store.py.
"""

from __future__ import annotations

import os
import time
from datetime import datetime
from typing import Any

from ..module_utils._base.errors import LabError
from ..module_utils._host.lease import Holder
from ..module_utils._host.store import SPEC, lock_of
from ..plugin_utils._action.controller import Answered, ControllerAction, Options, TaskVars, say
from ..plugin_utils._campaign.chosen import results_folder, search_folders
from ..plugin_utils._store import campaign_lock, results_store


class ActionModule(ControllerAction):
    """Keep the results of one campaign in a store, or on the controller where there is none."""

    _requires_connection = True
    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        self.options = options
        if options["state"] == "claimed":
            results_store.check_open(options["only_between"], datetime.now())
        self.results = (
            options["results"]
            and os.path.abspath(options["results"])
            or results_folder(options, search_folders(self._loader.get_basedir()))
        )
        before = options["before"]
        result: dict[str, Any] = {
            "results": self.results,
            "since": before.get("since") or time.time(),
            "files": {},
            "changed": False,
        }
        if not self._task.check_mode:
            result.update(self._in_store(task_vars) if options["folder"] else self._here())
        if options["state"] == "released":
            campaign_lock.release(lock_of(self.results), campaign_lock.controller())
            result["standing"] = results_store.standing(self.results)
        size = results_store.record_size(self.results)
        result["begun"] = before.get("begun", size)
        # Each run measures something: a chain of jobs comes to its end.
        worked = size > result["begun"]
        result["time_is_up"] = self._closed() or (worked and self._minutes_over(result["since"]))
        return result

    def _closed(self) -> bool:
        """Return whether the hours are over in which the network may be measured."""
        window = results_store.parse(self.options["only_between"])
        return window is not None and not window.is_open(datetime.now())

    def _minutes_over(self, since: float) -> bool:
        minutes: float = self.options["max_minutes"]
        return minutes > 0 and time.time() - since >= 60 * minutes

    def _here(self) -> Answered:
        """Lock or unlock the results folder of the controller."""
        if self.options["state"] == "claimed":
            if not self.options["temporary"]:
                results_store.refuse_temporary(self.results, os.environ)
            campaign_lock.acquire_patiently(lock_of(self.results), campaign_lock.controller(), say)
        return {}

    def _in_store(self, task_vars: TaskVars) -> Answered:
        """Do the same in the store, and bring both folders to one content."""
        self.task_vars = task_vars
        self.store = os.path.join(self.options["folder"], os.path.basename(self.results))
        state = self.options["state"]
        if state == "fetched":
            return self._fetch(self._ask()["files"])
        owner = campaign_lock.controller() if self.options["lock"] else None
        if state == "claimed":
            path = f"{self._play_context.remote_addr}:{lock_of(self.store)}"
            campaign_lock.wait_for(lambda silent: self._ask(owner=owner, silent=silent), path, say)
            try:
                return self._fetch(self._ask(owner=owner)["files"])
            except LabError:
                self._ask(owner=owner, release=True)
                raise
        return self._push(owner, state == "released")

    def _ask(self, owner: Holder | None = None, **request: Any) -> results_store.Answer:
        """Run the module in the store once."""
        sent = dict(request, folder=self.store, owner=owner, lease=self.options["lease"])
        answer: Any = self._execute_module(
            module_name="offload.lab.results_store",
            task_vars=self.task_vars,
            module_args={"state": self.options["state"], "request": sent},
        )
        if answer.get("failed") or answer.get("unreachable"):
            raise LabError(
                answer.get("msg", "the results store does not answer"),
                None,
                "Repair it, and run the campaign again: it continues after the stored trials.",
            )
        return answer

    def _push(self, owner: Holder | None, last: bool) -> Answered:
        stored_files = self.options["before"].get("files")
        news = results_store.news(
            self.results,
            self._ask()["files"] if stored_files is None else stored_files,
            self.options["files"] or results_store.RECORD,
        )
        answer = self._ask(owner, release=last and owner is not None, **news)
        if not answer["taken"]:
            raise campaign_lock.refusal(answer["holder"], lock_of(self.store))
        return {"changed": answer["changed"], "files": answer["files"]}

    def _fetch(self, files: results_store.Files) -> Answered:
        lacking = results_store.to_fetch(self.results, files)
        for name in lacking:
            self._fetch_file(name)
        return {"changed": bool(lacking), "files": files}

    def _fetch_file(self, name: str) -> None:
        """Fetch one file with Ansible's own action, which knows of become."""
        task = self._task.copy()
        task.args = {
            "src": os.path.join(self.store, name),
            "dest": os.path.join(self.results, name),
            "flat": True,
        }
        action = self._shared_loader_obj.action_loader.get(
            "ansible.builtin.fetch",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        answer = action.run(task_vars=self.task_vars)
        if answer.get("failed"):
            raise LabError(answer.get("msg", "it cannot be fetched"), task.args["src"])
