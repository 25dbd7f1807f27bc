# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a small AWX launches templates, and how a workflow goes from node to node."""

from __future__ import annotations

import json

from ansible_collections.offload.lab.tests.instruments.awx.jobs import UNFINISHED, now
from ansible_collections.offload.lab.tests.instruments.awx.prompts import Accepted
from ansible_collections.offload.lab.tests.instruments.awx.store import (
    BY_NAME,
    FOLLOWING,
    JOB_DEFAULTS,
    RefusedError,
)

TEMPLATE_FIELDS = tuple(key for key in JOB_DEFAULTS if key not in ("survey_enabled",))


class Launcher:
    """Launches, relaunches and cancels; ``runs`` starts the processes."""

    def __init__(self, store):
        self.store = store
        self.runs = None  # set once by the server: each needs the other
        self.surveys = {}  # {(type, id): survey}
        self.ignored = {}  # {id of a job: what its launch gave and AWX ignored}

    # -- launch -----------------------------------------------------------------------------------

    def questions(self, template):
        """Return the questions of a template's survey."""
        if not template["survey_enabled"]:
            return []
        return self.surveys.get((template["type"], template["id"]), {}).get("spec", [])

    def accept(self, template, prompts):
        """Return (the variables of a job, the variables that are ignored) of a launch."""
        questions = self.questions(template)
        accepted = Accepted(template, questions, prompts)
        if accepted.errors:
            raise RefusedError(400, {"variables_needed_to_start": accepted.errors})
        defaults = {
            entry["variable"]: entry["default"]
            for entry in questions
            if entry.get("default") not in (None, "")
        }
        fixed = json.loads(template.get("extra_vars") or "{}")
        return {**fixed, **defaults, **accepted.variables}, accepted.ignored

    def check_schedule(self, schedule):
        """Refuse a schedule with variables that its template does not accept."""
        template = self.store.anywhere(int(schedule["unified_job_template"]))
        extra_data = schedule.get("extra_data") or {}
        label = BY_NAME[template["type"]].label.title()
        refusal = Accepted(template, self.questions(template), extra_data).refusal(label)
        if refusal:
            raise RefusedError(400, refusal)

    def launch(self, template, prompts):
        """Return the new job of a template."""
        if template["type"] == "project":
            return self.runs.sync_project(template)
        if template["type"] == "inventory_source":
            return self.runs.sync_inventory(template)
        extra = prompts.get("extra_vars") or {}
        extra = json.loads(extra) if isinstance(extra, str) else extra
        variables, ignored = self.accept(template, extra)
        if template["type"] == "workflow_job_template":
            job = self._launch_workflow(template, variables)
        else:
            prompted, ignored_prompts = self._prompts(template, prompts)
            job = self._launch_job({**template, **prompted}, variables, "manual")
            ignored = {**ignored, **ignored_prompts}
        self.ignored[job["id"]] = ignored
        return job

    @staticmethod
    def _prompts(template, prompts):
        """Return (the fields of a job that a launch may set, those that it may not)."""
        fields = {key: value for key, value in prompts.items() if key in JOB_DEFAULTS}
        fields.pop("extra_vars", None)
        asks = {"job_tags": "tags"}  # of the fields whose prompt has another name
        allowed = {
            key: value
            for key, value in fields.items()
            if template.get(f"ask_{asks.get(key, key)}_on_launch")
        }
        return allowed, {key: value for key, value in fields.items() if key not in allowed}

    def _launch_job(self, template, variables, launch_type):
        fields = {key: template[key] for key in TEMPLATE_FIELDS}
        fields.update(
            name=template["name"],
            job_template=template["id"],
            unified_job_template=template["id"],
            launch_type=launch_type,
            extra_vars=json.dumps(variables),
        )
        job = self.store.create(BY_NAME["job"], fields)
        logins = self.store.members(BY_NAME["job_template"], template["id"], "credentials")
        self.store.members(BY_NAME["job"], job["id"], "credentials").extend(logins)
        self.runs.begin(job)
        return job

    def relaunch(self, job):
        template = self.store.get(BY_NAME["job_template"], job["job_template"])
        return self._launch_job(template, json.loads(job["extra_vars"]), "relaunch")

    # -- workflows --------------------------------------------------------------------------------

    def _launch_workflow(self, template, variables):
        workflow = self.store.create(
            BY_NAME["workflow_job"],
            {
                "name": template["name"],
                "workflow_job_template": template["id"],
                "unified_job_template": template["id"],
                "extra_vars": json.dumps(variables),
                "status": "running",
                "started": now(),
            },
        )
        copies = {}
        nodes = self.store.find("workflow_job_template_node", workflow_job_template=template["id"])
        for node in nodes:
            fields = {key: node[key] for key in ("identifier", "unified_job_template")}
            copy = self.store.create(
                BY_NAME["workflow_job_node"],
                {"name": node["identifier"], "workflow_job": workflow["id"], **fields},
            )
            copies[node["id"]] = copy
        for node in nodes:
            for name in FOLLOWING:
                following = self.store.members(
                    BY_NAME["workflow_job_template_node"], node["id"], name
                )
                mine = self.store.members(
                    BY_NAME["workflow_job_node"], copies[node["id"]]["id"], name
                )
                mine.extend(copies[number]["id"] for number in following)
        self.advance(workflow)
        return workflow

    def _nodes(self, workflow):
        return self.store.find("workflow_job_node", workflow_job=workflow["id"])

    def _parents(self, nodes):
        """Return {node: [(its parent, by which list)]}."""
        parents = {node["id"]: [] for node in nodes}
        for node in nodes:
            for name in FOLLOWING:
                for number in self.store.members(BY_NAME["workflow_job_node"], node["id"], name):
                    parents[number].append((node, name))
        return parents

    def advance(self, workflow):
        """Start the nodes whose turn it is, and end the workflow when there is none."""
        with self.store.lock:
            if workflow["status"] not in UNFINISHED:
                return
            nodes = self._nodes(workflow)
            parents = self._parents(nodes)
            changed = True
            while changed:
                changed = False
                for node in nodes:
                    changed |= self._decide(workflow, node, parents[node["id"]])
            if not any(self._open(node) for node in nodes):
                self._end_workflow(workflow, nodes)

    def _open(self, node):
        if node["do_not_run"]:
            return False
        return node["job"] is None or self._job(node)["status"] in UNFINISHED

    def _job(self, node):
        return self.store.anywhere(node["job"])

    def _decide(self, workflow, node, parents):
        """Start a node or rule it out; return whether something changed."""
        if node["job"] is not None or node["do_not_run"]:
            return False
        if workflow["canceled_on"]:
            node["do_not_run"] = True
            return True
        verdicts = [self._follows(parent, name) for parent, name in parents]
        if not parents or True in verdicts:
            self._spawn(workflow, node, parents)
            return True
        if None in verdicts:
            return False
        node["do_not_run"] = True
        return True

    def _follows(self, parent, name):
        """Return whether a node follows on its parent; None while that is open."""
        if parent["do_not_run"]:
            return False
        if parent["job"] is None or self._job(parent)["status"] in UNFINISHED:
            return None
        if name == "always_nodes":
            return True
        return (self._job(parent)["status"] == "successful") == (name == "success_nodes")

    def _artifacts(self, parents):
        """Return what set_stats of all jobs before a node left: AWX hands it on as variables."""
        artifacts = {}
        for parent, _name in parents:
            artifacts.update(parent["artifacts"])
            if parent["job"] is not None:
                artifacts.update(self._job(parent)["artifacts"])
        return artifacts

    def _spawn(self, workflow, node, parents):
        node["artifacts"] = self._artifacts(parents)
        template = self.store.anywhere(node["unified_job_template"])
        if template["type"] == "workflow_approval_template":
            job = self.store.create(
                BY_NAME["workflow_approval"],
                {
                    "name": template["name"],
                    "unified_job_template": template["id"],
                    "status": "pending",
                    "started": now(),
                },
            )
            node["job"] = job["id"]
            return
        # As in AWX, they need no permission of the job template: the workflow's own was asked for.
        fixed = json.loads(template.get("extra_vars") or "{}")
        passed_on = {**node["artifacts"], **json.loads(workflow["extra_vars"])}
        job = self._launch_job(template, {**fixed, **passed_on}, "workflow")
        node["job"] = job["id"]

    def _end_workflow(self, workflow, nodes):
        """A workflow has failed where a failed node has no path for its failure."""
        failed = False
        for node in nodes:
            if node["do_not_run"] or self._job(node)["status"] == "successful":
                continue
            handled = [
                self.store.members(BY_NAME["workflow_job_node"], node["id"], name)
                for name in ("failure_nodes", "always_nodes")
            ]
            failed |= not any(handled)
        status = "canceled" if workflow["canceled_on"] else "failed" if failed else "successful"
        workflow.update(
            status=status,
            failed=status != "successful",
            finished=now(),
            event_processing_finished=True,
        )

    def settle(self, approval, approved):
        """Take an approval's answer."""
        if approval["status"] != "pending":
            raise RefusedError(
                400, {"error": "This workflow step has already been approved or denied."}
            )
        approval.update(
            status="successful" if approved else "failed",
            failed=not approved,
            finished=now(),
            event_processing_finished=True,
        )
        self.ended(approval)

    def ended(self, job):
        """Go on in the workflow of a job that has ended."""
        for node in self.store.find("workflow_job_node", job=job["id"]):
            self.advance(self.store.get(BY_NAME["workflow_job"], node["workflow_job"]))

    def cancel_workflow(self, workflow):
        if workflow["status"] not in UNFINISHED:
            raise RefusedError(405, {"detail": 'Method "POST" not allowed.'})
        workflow["canceled_on"] = now()
        for node in self._nodes(workflow):
            job = self._job(node) if node["job"] else None
            if job and job["status"] in UNFINISHED and job["type"] == "job":
                self.runs.cancel(job)
            elif job and job["status"] in UNFINISHED:
                job.update(status="canceled", failed=True, finished=now())
        self.advance(workflow)
