# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small server that speaks the part of AWX's REST API that the modules of awx.awx use.

It stands for AWX 24.6.1 where the real one cannot be had. What it answers follows from what the
modules of awx.awx 24.6.1 ask and read. Jobs are real: ansible-runner runs them on this machine.
It listens on 127.0.0.1 alone, and sends nothing anywhere.
"""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

from ansible_collections.offload.lab.tests.instruments.awx.jobs import UNFINISHED, Runs
from ansible_collections.offload.lab.tests.instruments.awx.store import (
    BY_ENDPOINT,
    BY_NAME,
    ENCRYPTED,
    UNIONS,
    RefusedError,
    Store,
)
from ansible_collections.offload.lab.tests.instruments.awx.workflow import Launcher

VERSION = "24.6.1"
PAGE = 25
NOT_FOUND = RefusedError(404, {"detail": "Not found."})


class Api:
    """What the addresses below /api/v2/ do."""

    def __init__(self, folder, user="admin", password="password", **variables):
        self.store = Store()
        self.login = (user, password)
        self.tokens = {}
        self.launcher = Launcher(self.store)
        self.runs = Runs(self.store, folder, variables, self.launcher.ended)
        self.launcher.runs = self.runs
        machine = {"name": "Machine", "kind": "ssh", "namespace": "ssh"}
        self.store.create(BY_NAME["credential_type"], machine)
        self.requests = []  # (method, path) of each request, in their order

    # -- one request ------------------------------------------------------------------------------

    def answer(self, method, path, query, data):
        """Return ``(status, body)`` of a request to /api/v2/ + path."""
        self.requests.append((method, path))
        parts = [word for word in path.split("/") if word]
        if not parts or parts[0] == "ping":
            return 200, {"version": VERSION}
        if parts[0] == "tokens":
            return self._token(method, parts)
        if parts[0] in UNIONS and method == "GET" and len(parts) == 1:
            return 200, self._page(parts[0], self._union(parts[0]), query)
        kind = BY_ENDPOINT.get(parts[0])
        if kind is None:
            raise NOT_FOUND
        if len(parts) == 1:
            return self._collection(kind, method, query, data)
        if len(parts) == 2:
            return self._object(kind, method, parts[1], data)
        return self._below(kind, method, parts[1:3], query, data)

    def _union(self, name):
        """Return the objects of several types; each has an organization there, or none."""
        rows = []
        for kind in UNIONS[name]:
            rows += [{"organization": None, **self.shown(row)} for row in self.store.find(kind)]
        return rows

    def _collection(self, kind, method, query, data):
        if method == "POST":
            return 201, self.shown(self._create(kind, data))
        self._only(method, "GET")
        return 200, self._page(kind.endpoint, self.store.find(kind.name), query)

    def _create(self, kind, data):
        if kind.name == "job_template":
            self._check_playbook(data)
        if kind.name == "schedule":
            self.launcher.check_schedule(data)
        created = self.store.create(kind, data)
        if kind.name == "project" and created["scm_type"]:
            created["current_update"] = self.runs.sync_project(created)["id"]
        return created

    def _check_playbook(self, data):
        project = self.store.anywhere(int(data.get("project") or 0))
        if project is None or "playbook" not in data:
            return
        folder = self.runs.project_folder(project["id"])
        if not (folder / data["playbook"]).is_file():
            raise RefusedError(400, {"playbook": ["Playbook not found for project."]})

    def _object(self, kind, method, number, data):
        if method == "GET":
            return 200, self.shown(self.store.get(kind, number))
        if method == "PATCH":
            if kind.name == "job_template":
                entry = self.store.get(kind, number)
                self._check_playbook({"project": entry["project"], **data})
            if kind.name == "schedule":
                self.launcher.check_schedule({**self.store.get(kind, number), **data})
            return 200, self.shown(self._change(kind, number, data))
        self._only(method, "DELETE")
        self._check_unused(kind, number)
        self.store.delete(kind, number)
        return (202 if kind.name == "inventory" else 204), None

    def _change(self, kind, number, data):
        """Change an object; a project whose source changes is synced, as in AWX."""
        source = ("scm_url", "scm_branch", "scm_type")
        before = [self.store.get(kind, number).get(key) for key in source]
        entry = self.store.change(kind, number, data)
        if [entry.get(key) for key in source] != before:
            entry["current_update"] = self.runs.sync_project(entry)["id"]
        return entry

    def _check_unused(self, kind, number):
        """AWX does not delete what a job uses at this moment."""
        for job in self.store.find("job"):
            uses = {job["job_template"], job["project"], job["inventory"]}
            if job["status"] in UNFINISHED and self.store.get(kind, number)["id"] in uses:
                text = "Resource is being used by running jobs."
                raise RefusedError(409, {"error": text, "active_jobs": [{"id": job["id"]}]})

    def _below(self, kind, method, parts, query, data):
        number, name = parts
        entry = self.store.get(kind, number)
        if name in kind.lists:
            rows = self.store.members(kind, number, name)
            return self._list(f"{kind.endpoint}/{number}/{name}", rows, method, query, data)
        if name not in kind.actions:
            raise NOT_FOUND
        action = getattr(self, f"_do_{name}")
        return action(method, entry, query, data)

    def _list(self, path, members, method, query, data):
        if method == "GET":
            rows = [self.store.anywhere(member) for member in members]
            return 200, self._page(path, rows, query)
        self._only(method, "POST")
        other = self.store.anywhere(int(data.get("id", 0)))
        if other is None:
            raise RefusedError(400, {"detail": f'Invalid pk "{data.get("id")}".'})
        if data.get("disassociate"):
            members.remove(other["id"])
        elif other["id"] not in members:
            members.append(other["id"])
        return 204, None

    @staticmethod
    def _only(method, allowed):
        if method != allowed:
            raise RefusedError(405, {"detail": f'Method "{method}" not allowed.'})

    # -- what objects can do ----------------------------------------------------------------------

    def _do_survey_spec(self, method, survey_entry, query, data):
        key = (survey_entry["type"], survey_entry["id"])
        if method == "POST":
            for entry in data.get("spec", []):
                if not {"question_name", "variable", "type", "required"} <= set(entry):
                    raise RefusedError(400, {"error": "a survey question lacks a key"})
            self.launcher.surveys[key] = data
            return 200, {}
        if method == "DELETE":
            self.launcher.surveys.pop(key, None)
            return 200, {}
        return 200, self.launcher.surveys.get(key, {})

    def _do_launch(self, method, entry, query, data):
        if method == "GET":
            survey = entry["survey_enabled"]
            return 200, {"can_start_without_user_input": not survey, "survey_enabled": survey}
        job = self.launcher.launch(entry, data)
        return 201, {**self.shown(job), "ignored_fields": self.launcher.ignored.get(job["id"], {})}

    def _do_relaunch(self, method, entry, query, data):
        self._only(method, "POST")
        return 201, self.shown(self.launcher.relaunch(entry))

    def _do_update(self, method, entry, query, data):
        self._only(method, "POST")
        update = self.launcher.launch(entry, {})
        if entry["type"] == "project":
            entry["current_update"] = update["id"]
        return 202, self.shown(update)

    def _do_cancel(self, method, entry, query, data):
        if method == "GET":
            return 200, {"can_cancel": entry["status"] in UNFINISHED}
        if entry["type"] == "workflow_job":
            self.launcher.cancel_workflow(entry)
        else:
            self.runs.cancel(entry)
        return 202, None

    def _do_events(self, method, entry, query, data):
        rows = self.runs.events.get(entry["id"], [])
        rows = [dict(row, id=number, type="event") for number, row in enumerate(rows, 1)]
        return 200, self._page(f"{entry['type']}s/{entry['id']}/events", rows, query)

    _do_job_events = _do_events

    def _do_stdout(self, method, entry, query, data):
        content = self.runs.output.get(entry["id"], "")
        return 200, {"content": content, "range": {"start": 0, "end": content.count("\n")}}

    def _do_workflow_nodes(self, method, entry, query, data):
        kind = "workflow_job_node" if entry["type"] == "workflow_job" else entry["type"] + "_node"
        rows = self.store.find(kind, **{entry["type"]: entry["id"]})
        job_name = query.pop("job__name", None)
        if job_name is not None:
            jobs = {row["id"]: self.store.anywhere(row["job"] or 0) for row in rows}
            rows = [row for row in rows if (jobs[row["id"]] or {}).get("name") == job_name]
        return 200, self._page(f"{entry['type']}s/{entry['id']}/workflow_nodes", rows, query)

    def _do_create_approval_template(self, method, entry, query, data):
        self._only(method, "POST")
        created = self.store.create(BY_NAME["workflow_approval_template"], data)
        entry["unified_job_template"] = created["id"]
        return 201, self.shown(created)

    def _do_approve(self, method, entry, query, data):
        self._only(method, "POST")
        self.launcher.settle(entry, True)
        return 204, None

    def _do_deny(self, method, entry, query, data):
        self._only(method, "POST")
        self.launcher.settle(entry, False)
        return 204, None

    def _do_playbooks(self, method, entry, query, data):
        folder = self.runs.project_folder(entry["id"])
        return 200, sorted(str(path.relative_to(folder)) for path in folder.glob("**/*.yml"))

    def _do_hosts(self, method, entry, query, data):
        rows = self.store.find("host", inventory=entry["id"])
        return 200, self._page(f"inventories/{entry['id']}/hosts", rows, query)

    def _do_script(self, method, entry, query, data):
        return 200, entry.get("listed", {})

    # -- what is shown ----------------------------------------------------------------------------

    def shown(self, entry):
        """Return an object as the API shows it: with its addresses, without its secrets."""
        kind = BY_NAME[entry["type"]]
        url = f"/api/v2/{kind.endpoint}/{entry['id']}/"
        hidden = ("listed", "current_update")
        body = {key: value for key, value in entry.items() if key not in hidden}
        if kind.secret:
            body["inputs"] = {
                key: ENCRYPTED if key in kind.secret and value else value
                for key, value in entry["inputs"].items()
            }
        related = {name: f"{url}{name}/" for name in (*kind.lists, *kind.actions)}
        for key in ("unified_job_template", "job"):
            other = self.store.anywhere(entry.get(key) or 0)
            if other is not None:
                endpoint = BY_NAME[other["type"]].endpoint
                related[key] = f"/api/v2/{endpoint}/{other['id']}/"
        summary = {}
        update = self.store.anywhere(entry.get("current_update") or 0)
        if update and update["status"] in UNFINISHED:
            summary["current_update"] = {"id": update["id"], "status": update["status"]}
        return {**body, "url": url, "related": related, "summary_fields": summary}

    def _page(self, path, rows, query):
        size = int(query.pop("page_size", PAGE))
        number = int(query.pop("page", 1))
        order = query.pop("order_by", "id")
        rows = [row for row in rows if self._matches(row, query)]
        rows.sort(key=lambda row: row.get(order.lstrip("-")) or 0, reverse=order.startswith("-"))
        start = (number - 1) * size
        more = start + size < len(rows)
        following = urlencode({**query, "page": number + 1, "page_size": size})
        shown = [row if "url" in row or row["type"] == "event" else self.shown(row) for row in rows]
        return {
            "count": len(rows),
            "next": f"/api/v2/{path}/?{following}" if more else None,
            "previous": None,
            "results": shown[start : start + size],
        }

    def _matches(self, row, query):
        """Return whether an object is what a query asks for; ``or__`` keys need one match."""
        either = [(key[4:], value) for key, value in query.items() if key.startswith("or__")]
        every = [(key, value) for key, value in query.items() if not key.startswith("or__")]
        if not all(self._same(row, key, value) for key, value in every):
            return False
        return not either or any(self._same(row, key, value) for key, value in either)

    @staticmethod
    def _same(row, key, value):
        key = key.removesuffix("__exact")
        if key not in row:
            raise RefusedError(400, {"detail": f"{row['type']} has no field named '{key}'"})
        return str("" if row[key] is None else row[key]) == str("" if value == "None" else value)

    # -- login ------------------------------------------------------------------------------------

    def _token(self, method, parts):
        if method == "DELETE":
            self.tokens.pop(int(parts[1]), None)
            return 204, None
        number = len(self.tokens) + 1
        self.tokens[number] = secrets.token_hex(8)
        return 201, {"id": number, "token": self.tokens[number]}

    def may(self, header):
        """Return whether an Authorization header is one of ours."""
        name, _space, value = (header or "").partition(" ")
        if name == "Bearer":
            return value in self.tokens.values()
        if name == "Basic":
            return tuple(base64.b64decode(value).decode().split(":", 1)) == self.login
        return False


class Handler(BaseHTTPRequestHandler):
    """HTTP to :class:`Api` and back."""

    api: Api
    protocol_version = "HTTP/1.1"

    def _handle(self):
        size = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(size)
        address = urlsplit(self.path)
        try:
            if not self.api.may(self.headers.get("Authorization")):
                raise RefusedError(401, {"detail": "Authentication credentials were not provided."})
            if not address.path.startswith("/api/v2/"):
                raise NOT_FOUND
            data = json.loads(raw) if raw else {}
            query = dict(parse_qsl(address.query))
            status, body = self.api.answer(self.command, address.path[8:], query, data)
        except RefusedError as error:
            status = error.status
            body = error.body
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("X-API-Product-Name", "AWX")
        self.send_header("X-API-Product-Version", VERSION)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle  # noqa: N815 # as http.server wants

    def log_message(self, *args):
        """Stay silent: what was asked is in Api.requests."""


@contextlib.contextmanager
def serve(folder, **variables):
    """Run the server while the context lasts; yield its :class:`Api`, with ``address`` added."""
    api = Api(folder, **variables)
    handler = type("Bound", (Handler,), {"api": api})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    api.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        for number in list(api.runs.processes):
            api.runs._end(number)
        server.shutdown()
        thread.join()
