# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a small AWX: what types there are, what is unique, what each relates to.

A type is one row of :data:`TYPES`. What it lists as lists of others (``nodes``, ``credentials``)
is what AWX 24.6.1 has for that type, and no more: an approval template has no list of nodes.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field

JSON = dict  # an object as the API shows it


class RefusedError(Exception):
    """The API answers with an error; ``body`` is its JSON."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body


@dataclass(frozen=True)
class Type:
    """A type of objects: its collection in the API, and what its objects have."""

    name: str
    endpoint: str
    label: str  # as AWX's error messages say it
    defaults: JSON = field(default_factory=dict)
    unique: tuple[str, ...] = ("name",)
    required: tuple[str, ...] = ("name",)
    references: tuple[str, ...] = ()  # fields that hold the id of another object
    lists: tuple[str, ...] = ()  # lists of other objects, changed by POST {id, disassociate}
    actions: tuple[str, ...] = ()  # further addresses below the object
    secret: tuple[str, ...] = ()  # never shown again


NOTIFIES = (
    "notification_templates_started",
    "notification_templates_success",
    "notification_templates_error",
)
FOLLOWING = ("success_nodes", "failure_nodes", "always_nodes")
JOB_DEFAULTS = {
    "description": "",
    "job_type": "run",
    "limit": "",
    "forks": 0,
    "verbosity": 0,
    "extra_vars": "",
    "job_tags": "",
    "skip_tags": "",
    "timeout": 0,
    "scm_branch": "",
    "playbook": "",
    "project": None,
    "inventory": None,
    "execution_environment": None,
    "organization": None,
    "allow_simultaneous": False,
    "survey_enabled": False,
    "become_enabled": False,
    "diff_mode": False,
    "job_slice_count": 1,
    "use_fact_cache": False,
}
ASKS = (
    "variables",
    "limit",
    "tags",
    "skip_tags",
    "job_type",
    "verbosity",
    "inventory",
    "credential",
    "scm_branch",
    "diff_mode",
    "execution_environment",
    "forks",
    "instance_groups",
    "job_slice_count",
    "labels",
    "timeout",
)
ASK_DEFAULTS = {f"ask_{name}_on_launch": False for name in ASKS}
RUN_DEFAULTS = {
    "status": "pending",
    "failed": False,
    "started": None,
    "finished": None,
    "elapsed": 0.0,
    "job_explanation": "",
    "result_traceback": "",
    "launch_type": "manual",
    "event_processing_finished": False,
    "artifacts": {},
    "unified_job_template": None,
    "canceled_on": None,
}
NOT_UNIQUE: tuple[str, ...] = ()

TYPES = [
    Type("organization", "organizations", "Organization", {"description": "", "max_hosts": 0}),
    Type(
        "execution_environment",
        "execution_environments",
        "Execution environment",
        {"description": "", "organization": None, "image": "", "pull": "", "credential": None},
        references=("organization", "credential"),
        required=("name", "image"),
    ),
    Type(
        "project",
        "projects",
        "Project",
        {
            "description": "",
            "organization": None,
            "scm_type": "",
            "scm_url": "",
            "scm_branch": "",
            "scm_revision": "",
            "scm_update_on_launch": False,
            "scm_update_cache_timeout": 0,
            "default_environment": None,
            "status": "never updated",
            "timeout": 0,
        },
        unique=("name", "organization"),
        references=("organization", "default_environment"),
        lists=NOTIFIES,
        actions=("update", "playbooks"),
    ),
    Type(
        "project_update",
        "project_updates",
        "Project update",
        {**RUN_DEFAULTS, "project": None, "scm_revision": "", "job_type": "check"},
        unique=NOT_UNIQUE,
        references=("project",),
        actions=("events", "stdout", "cancel"),
    ),
    Type(
        "credential_type",
        "credential_types",
        "Credential type",
        {"kind": "", "namespace": ""},
    ),
    Type(
        "credential",
        "credentials",
        "Credential",
        {"description": "", "organization": None, "credential_type": None, "inputs": {}},
        unique=("name", "organization", "credential_type"),
        references=("organization", "credential_type"),
        required=("name", "credential_type"),
        secret=("password", "ssh_key_data", "become_password"),
    ),
    Type(
        "inventory",
        "inventories",
        "Inventory",
        {
            "description": "",
            "organization": None,
            "kind": "",
            "host_filter": None,
            "variables": "",
        },
        unique=("name", "organization"),
        references=("organization",),
        required=("name", "organization"),
        lists=("instance_groups",),
        actions=("hosts", "script"),
    ),
    Type(
        "inventory_source",
        "inventory_sources",
        "Inventory source",
        {
            "description": "",
            "source": "",
            "source_path": "",
            "source_vars": "",
            "inventory": None,
            "source_project": None,
            "execution_environment": None,
            "credential": None,
            "overwrite": False,
            "overwrite_vars": False,
            "update_on_launch": False,
            "update_cache_timeout": 0,
            "status": "never updated",
        },
        unique=("name", "inventory"),
        references=("inventory", "source_project", "execution_environment"),
        required=("name", "inventory"),
        lists=NOTIFIES,
        actions=("update",),
    ),
    Type(
        "inventory_update",
        "inventory_updates",
        "Inventory update",
        {**RUN_DEFAULTS, "inventory_source": None},
        unique=NOT_UNIQUE,
        references=("inventory_source",),
        actions=("events", "stdout", "cancel"),
    ),
    Type("host", "hosts", "Host", {"inventory": None, "variables": ""}, unique=NOT_UNIQUE),
    Type(
        "notification_template",
        "notification_templates",
        "Notification template",
        {
            "description": "",
            "organization": None,
            "notification_type": "",
            "notification_configuration": {},
            "messages": None,
        },
        unique=("name", "organization"),
        references=("organization",),
        required=("name", "organization", "notification_type"),
    ),
    Type(
        "job_template",
        "job_templates",
        "Job template",
        {**JOB_DEFAULTS, **ASK_DEFAULTS},
        unique=("name", "organization"),
        references=("project", "inventory", "execution_environment", "organization"),
        required=("name", "project", "playbook"),
        lists=("credentials", "labels", "instance_groups", *NOTIFIES),
        actions=("survey_spec", "launch"),
    ),
    Type(
        "job",
        "jobs",
        "Job",
        {**JOB_DEFAULTS, **RUN_DEFAULTS, "job_template": None},
        unique=NOT_UNIQUE,
        references=("job_template", "project", "inventory"),
        lists=("credentials",),
        actions=("job_events", "stdout", "cancel", "relaunch"),
    ),
    Type(
        "workflow_job_template",
        "workflow_job_templates",
        "Workflow job template",
        {
            "description": "",
            "organization": None,
            "extra_vars": "",
            "inventory": None,
            "limit": "",
            "scm_branch": "",
            "job_tags": "",
            "skip_tags": "",
            "survey_enabled": False,
            "allow_simultaneous": False,
            **ASK_DEFAULTS,
        },
        unique=("name", "organization"),
        references=("organization", "inventory"),
        lists=(*NOTIFIES, "notification_templates_approvals", "labels"),
        actions=("survey_spec", "launch", "workflow_nodes"),
    ),
    Type(
        "workflow_job_template_node",
        "workflow_job_template_nodes",
        "Workflow job template node",
        {
            "identifier": "",
            "workflow_job_template": None,
            "unified_job_template": None,
            "extra_data": {},
            "all_parents_must_converge": False,
            "inventory": None,
            "limit": None,
            "job_type": None,
        },
        unique=("identifier", "workflow_job_template"),
        references=("workflow_job_template", "unified_job_template"),
        required=("workflow_job_template",),
        lists=(*FOLLOWING, "credentials", "labels", "instance_groups"),
        actions=("create_approval_template",),
    ),
    # No lists at all: AWX answers 404 for the lists of nodes below an approval template.
    Type(
        "workflow_approval_template",
        "workflow_approval_templates",
        "Workflow approval template",
        {"description": "", "timeout": 0},
        unique=NOT_UNIQUE,
    ),
    Type(
        "workflow_job",
        "workflow_jobs",
        "Workflow job",
        {**RUN_DEFAULTS, "workflow_job_template": None, "extra_vars": ""},
        unique=NOT_UNIQUE,
        references=("workflow_job_template",),
        actions=("workflow_nodes", "cancel", "relaunch"),
    ),
    Type(
        "workflow_job_node",
        "workflow_job_nodes",
        "Workflow job node",
        {
            "identifier": "",
            "workflow_job": None,
            "unified_job_template": None,
            "job": None,
            "do_not_run": False,
            "artifacts": {},  # of all jobs before it
        },
        unique=NOT_UNIQUE,
        required=(),
        references=("workflow_job", "unified_job_template", "job"),
        lists=FOLLOWING,
    ),
    Type(
        "workflow_approval",
        "workflow_approvals",
        "Workflow approval",
        {**RUN_DEFAULTS, "timed_out": False},
        unique=NOT_UNIQUE,
        actions=("approve", "deny", "cancel"),
    ),
    Type(
        "schedule",
        "schedules",
        "Schedule",
        {
            "description": "",
            "rrule": "",
            "extra_data": {},
            "enabled": True,
            "unified_job_template": None,
        },
        unique=("name", "unified_job_template"),
        references=("unified_job_template",),
        required=("name", "rrule", "unified_job_template"),
    ),
]
BY_NAME = {kind.name: kind for kind in TYPES}
BY_ENDPOINT = {kind.endpoint: kind for kind in TYPES}
# Lists over several types, each read only.
UNIONS = {
    "unified_job_templates": (
        "job_template",
        "workflow_job_template",
        "project",
        "inventory_source",
        "workflow_approval_template",
    ),
    "unified_jobs": (
        "job",
        "workflow_job",
        "project_update",
        "inventory_update",
        "workflow_approval",
    ),
}
# What is deleted together with an object: {type: [(type of what goes, the field that names it)]}.
CASCADES = {
    "inventory": [("inventory_source", "inventory"), ("host", "inventory")],
    "workflow_job_template": [("workflow_job_template_node", "workflow_job_template")],
    "project": [("inventory_source", "source_project")],
}
ENCRYPTED = "$encrypted$"


class Store:
    """All objects, by id. Ids of templates and of jobs are of one sequence each, as in AWX."""

    def __init__(self):
        self.lock = threading.RLock()
        self.objects: dict[str, dict[int, JSON]] = {kind.name: {} for kind in TYPES}
        self.lists: dict[tuple[str, int, str], list[int]] = {}
        self._numbers = itertools.count(1)

    def create(self, kind, data):
        """Add an object, or raise what AWX answers to wrong data."""
        with self.lock:
            missing = {
                key: ["This field is required."] for key in kind.required if not data.get(key)
            }
            if missing:
                raise RefusedError(400, missing)
            fields = {**kind.defaults, **self._known(kind, data)}
            fields.setdefault("name", data.get("name", ""))
            self._check_references(kind, fields)
            self._check_unique(kind, fields)
            number = next(self._numbers)
            self.objects[kind.name][number] = {"id": number, "type": kind.name, **fields}
            return self.objects[kind.name][number]

    def change(self, kind, number, data):
        with self.lock:
            entry = self.get(kind, number)
            fields = self._known(kind, data)
            self._check_references(kind, fields)
            self._check_unique(kind, {**entry, **fields}, entry["id"])
            self._keep_secrets(kind, entry, fields)
            entry.update(fields)
            return entry

    def get(self, kind, number):
        try:
            return self.objects[kind.name][int(number)]
        except (KeyError, ValueError):
            raise RefusedError(404, {"detail": "Not found."}) from None

    def find(self, name, /, **criteria):
        """Return the objects of a type whose fields are as wanted."""
        with self.lock:
            return [
                entry
                for entry in self.objects[name].values()
                if all(entry.get(key) == value for key, value in criteria.items())
            ]

    def delete(self, kind, number):
        with self.lock:
            entry = self.get(kind, number)
            del self.objects[kind.name][entry["id"]]
            for name, key in CASCADES.get(kind.name, []):
                for other in self.find(name, **{key: entry["id"]}):
                    self.delete(BY_NAME[name], other["id"])
            if kind.name in UNIONS["unified_job_templates"]:
                for schedule in self.find("schedule", unified_job_template=entry["id"]):
                    self.delete(BY_NAME["schedule"], schedule["id"])
            if kind.name == "workflow_job_template_node":
                self._delete_approval(entry)
            for members in self.lists.values():
                if entry["id"] in members:
                    members.remove(entry["id"])

    def _delete_approval(self, node):
        template = self.objects["workflow_approval_template"]
        template.pop(node["unified_job_template"], None)

    def members(self, kind, number, name):
        """Return the ids of a list of an object."""
        self.get(kind, number)
        if name not in kind.lists:
            raise RefusedError(404, {"detail": "Not found."})
        return self.lists.setdefault((kind.name, int(number), name), [])

    def anywhere(self, number):
        """Return the object of an id, whatever its type."""
        for table in self.objects.values():
            if number in table:
                return table[number]
        return None

    @staticmethod
    def _known(kind, data):
        allowed = {"name", *kind.defaults}
        return {key: value for key, value in data.items() if key in allowed}

    @staticmethod
    def _keep_secrets(kind, entry, fields):
        """What comes back as it was shown stays what it was."""
        if not kind.secret or "inputs" not in fields:
            return
        for key, value in fields["inputs"].items():
            if value == ENCRYPTED:
                fields["inputs"][key] = entry["inputs"].get(key)

    def _check_references(self, kind, fields):
        for key in kind.references:
            value = fields.get(key)
            if value in (None, ""):
                continue
            if self.anywhere(int(value)) is None:
                text = f'Invalid pk "{value}" - object does not exist.'
                raise RefusedError(400, {key: [text]})
            fields[key] = int(value)

    def _check_unique(self, kind, fields, number=None):
        if not kind.unique:
            return
        for other in self.objects[kind.name].values():
            same = all(other.get(key) == fields.get(key) for key in kind.unique)
            if same and other["id"] != number:
                keys_text = " and ".join(key.replace("_", " ").capitalize() for key in kind.unique)
                text = f"{kind.label} with this {keys_text} already exists."
                raise RefusedError(400, {"__all__": [text]})
