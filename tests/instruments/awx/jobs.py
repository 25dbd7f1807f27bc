# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a small AWX runs: syncs of a project, syncs of an inventory, and jobs by ansible-runner.

A job has a private folder of its own and a host name of its own; the folder is thrown away when the
job ends, as AWX does. A cancel is SIGTERM, and SIGKILL after a grace.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from ansible_collections.offload.lab.tests.instruments.awx.prompts import variables_file
from ansible_collections.offload.lab.tests.instruments.awx.store import BY_NAME, RefusedError
from ansible_collections.offload.lab.tests.support import BIN, environment

GRACE_S = 5  # from SIGTERM to SIGKILL, as AWX has it
PATIENCE_S = 900  # for the end of one job
UNFINISHED = ("new", "pending", "waiting", "running")


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


class Runs:
    """The processes of all jobs, and what follows when one ends."""

    def __init__(self, store, folder, variables, at_end):
        self.store = store
        self.folder = Path(folder)
        self.variables = variables  # of the environment of each job
        self.at_end = at_end  # called with each job that has ended
        self.processes: dict[int, subprocess.Popen] = {}
        self.events: dict[int, list] = {}
        self.output: dict[int, str] = {}
        self.notifications: list = []

    # -- the life of a job --------------------------------------------------------------------

    def begin(self, job):
        """Start a job, or have it wait for one of the same template."""
        threading.Thread(target=self._whole, args=(job,), daemon=True).start()

    def _whole(self, job):
        work = {
            "project_update": self._sync_project,
            "inventory_update": self._sync_inventory,
            "job": self._run_job,
        }[job["type"]]
        if not self._wait_for_others(job):
            return
        job.update(status="running", started=now())
        began = time.monotonic()
        try:
            status = work(job)
        except RefusedError as error:
            status = "error"
            job["job_explanation"] = json.dumps(error.body)
        except Exception as error:  # a fault of this instrument is seen in the job, as in AWX
            status = "error"
            job["result_traceback"] = repr(error)
        self._finish(job, status, time.monotonic() - began)

    def _wait_for_others(self, job):
        """Jobs of one template run one after the other; return False for one that was cancelled."""
        while self._blocked(job):
            time.sleep(0.1)
        return job["status"] == "pending"

    def _blocked(self, job):
        with self.store.lock:
            if job["status"] != "pending" or job["type"] != "job" or job["allow_simultaneous"]:
                return False
            others = self.store.find("job", job_template=job["job_template"])
            return any(
                other["status"] in UNFINISHED and other["id"] < job["id"] for other in others
            )

    def wait(self, job):
        """Wait for the end of a job."""
        end = time.monotonic() + PATIENCE_S
        while job["status"] in UNFINISHED:
            assert time.monotonic() < end, f"{job['name']} is still {job['status']}"
            time.sleep(0.1)

    def _finish(self, job, status, seconds):
        with self.store.lock:
            if job["canceled_on"]:
                status = "canceled"
            job.update(
                status=status,
                failed=status != "successful",
                finished=now(),
                elapsed=round(seconds, 3),
                event_processing_finished=True,
            )
        self._notify(job)
        self.at_end(job)

    def cancel(self, job):
        """End a job as AWX does, and return immediately."""
        if job["status"] not in UNFINISHED:
            raise RefusedError(405, {"detail": 'Method "POST" not allowed.'})
        job["canceled_on"] = now()
        if job["status"] in ("new", "pending", "waiting"):
            self._finish(job, "canceled", 0.0)
            return
        threading.Thread(target=self._end, args=(job["id"],), daemon=True).start()

    def _end(self, number):
        process = self.processes.get(number)
        if process is None:
            return
        for name in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, name)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)

    def _process(self, number, argv, cwd, timeout_s=0, **variables):
        """Run a process to its end; return (exit status, output, whether its time ran out)."""
        process = subprocess.Popen(
            [str(word) for word in argv],
            cwd=cwd,
            env=environment(**{**self.variables, **variables}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.processes[number] = process
        late = threading.Event()
        timer = (
            threading.Timer(timeout_s, self._time_is_over, (number, late)) if timeout_s else None
        )
        if timer:
            timer.start()
        output, _none = process.communicate()
        if timer:
            timer.cancel()
        self.output[number] = self.output.get(number, "") + output
        return process.returncode, output, late.is_set()

    def _time_is_over(self, number, late):
        late.set()
        self._end(number)

    # -- project and inventory ----------------------------------------------------------------

    def project_folder(self, project):
        return self.folder / f"project_{project}"

    def sync_project(self, project, launch_type="manual"):
        """Start a sync of a project and return its object."""
        update = self.store.create(
            BY_NAME["project_update"],
            {
                "name": project["name"],
                "project": project["id"],
                "unified_job_template": project["id"],
                "launch_type": launch_type,
            },
        )
        project["status"] = "pending"
        self.begin(update)
        return update

    def _sync_project(self, update):
        project = self.store.get(BY_NAME["project"], update["project"])
        target = self.project_folder(project["id"])
        shutil.rmtree(target, ignore_errors=True)
        argv = ["git", "clone", "--quiet", "--depth", "1"]
        if project["scm_branch"]:
            argv += ["--branch", project["scm_branch"]]
        rc, output, _late = self._process(
            update["id"], [*argv, "--", project["scm_url"], target], self.folder
        )
        if rc == 0:
            _rc, revision, _late = self._process(update["id"], ["git", "rev-parse", "HEAD"], target)
            update["scm_revision"] = project["scm_revision"] = revision.strip()
        else:
            failed = {"task": "Update project using git", "res": {"msg": output.strip()}}
            self.events[update["id"]] = [{"event": "runner_on_failed", "event_data": failed}]
        project["status"] = "successful" if rc == 0 else "failed"
        return project["status"]

    def sync_inventory(self, source):
        """Start a sync of an inventory source and return its object."""
        update = self.store.create(
            BY_NAME["inventory_update"],
            {
                "name": source["name"],
                "inventory_source": source["id"],
                "unified_job_template": source["id"],
            },
        )
        self.begin(update)
        return update

    def _sync_inventory(self, update):
        source = self.store.get(BY_NAME["inventory_source"], update["inventory_source"])
        folder = self.project_folder(source["source_project"])
        if not folder.is_dir():
            update["job_explanation"] = "The project was not synced."
            return "failed"
        argv = [BIN / "ansible-inventory", "-i", source["source_path"], "--list", "--export"]
        rc, output, _late = self._process(update["id"], argv, folder)
        source["status"] = "successful" if rc == 0 else "failed"
        if rc == 0:
            listed = json.loads(output[output.index("{") :])
            self._take_hosts(source["inventory"], listed)
        return source["status"]

    def _take_hosts(self, inventory, listed):
        with self.store.lock:
            for host in self.store.find("host", inventory=inventory):
                self.store.delete(BY_NAME["host"], host["id"])
            for name, variables in listed.get("_meta", {}).get("hostvars", {}).items():
                fields = {"name": name, "inventory": inventory, "variables": json.dumps(variables)}
                self.store.create(BY_NAME["host"], fields)
            self.store.get(BY_NAME["inventory"], inventory)["listed"] = listed

    # -- jobs -----------------------------------------------------------------------------------

    def _run_job(self, job):
        project = self.store.get(BY_NAME["project"], job["project"])
        for source in self.store.find("inventory_source", inventory=job["inventory"]):
            if source["update_on_launch"] and not self._done(self.sync_inventory(source)):
                job["job_explanation"] = "Previous Task Failed: inventory_update"
                return "failed"
        private = self.folder / f"awx_{job['id']}"
        try:
            self._fill(private, project, job)
            argv = ["unshare", "--uts", "sh", "-c", 'hostname "$1" && shift && exec "$@"', "job"]
            argv += [f"awx-job-{job['id']}", BIN / "ansible-runner", "run", ".", "-p"]
            argv += [job["playbook"], "--ident", "job"]
            argv += ["--cmdline=--check"] if job["job_type"] == "check" else []
            rc, _output, late = self._process(
                job["id"], argv, private, int(job["timeout"] or 0), AWX_JOB_ID=str(job["id"])
            )
            self._take_events(job, private)
        finally:
            shutil.rmtree(private, ignore_errors=True)
        if late:
            job["job_explanation"] = "Job terminated due to timeout"
            return "failed"
        return "successful" if rc == 0 else "failed"

    def _done(self, update):
        self.wait(update)
        return update["status"] == "successful"

    def _fill(self, private, project, job):
        """Make the private folder of a job: project, inventory, variables, login."""
        shutil.copytree(self.project_folder(project["id"]), private / "project", symlinks=True)
        for name in ("inventory", "env"):
            (private / name).mkdir()
        listed = self.store.get(BY_NAME["inventory"], job["inventory"]).get("listed", {})
        script = private / "inventory/hosts"
        text = json.dumps({"_meta": {"hostvars": {}}, **listed})
        script.write_text(f"#!/bin/sh\ncat <<'EOF'\n{text}\nEOF\n")
        script.chmod(0o755)
        template = self.store.get(BY_NAME["job_template"], job["job_template"])
        trusted = {**json.loads(template["extra_vars"] or "{}"), **self._login(private, job)}
        variables = {**json.loads(job["extra_vars"] or "{}"), **self._login(private, job)}
        (private / "env/extravars").write_text(variables_file(variables, trusted))
        (private / "env/envvars").write_text(json.dumps({"ANSIBLE_HOST_KEY_CHECKING": "False"}))

    def _login(self, private, job):
        """Write the key of a job's login; return the variables that name it."""
        tokens = {}
        for number in self.store.members(BY_NAME["job"], job["id"], "credentials"):
            inputs = self.store.get(BY_NAME["credential"], number)["inputs"]
            if inputs.get("ssh_key_data"):
                (private / "env/ssh_key").write_text(inputs["ssh_key_data"])
            names = {
                "username": "ansible_user",
                "password": "ansible_password",
                "become_password": "ansible_become_password",
            }
            tokens.update({names[key]: inputs[key] for key in names if inputs.get(key)})
        return tokens

    def _take_events(self, job, private):
        events = []
        for path in (private / "artifacts/job/job_events").glob("*-*.json"):
            with contextlib.suppress(ValueError):
                events.append(json.loads(path.read_text()))
        events.sort(key=lambda event: event["counter"])
        self.events[job["id"]] = events
        for event in events:
            if event["event"] == "playbook_on_stats":
                job["artifacts"] = event["event_data"].get("artifact_data", {})

    def _notify(self, job):
        """Keep what notification templates would have sent: nothing is sent anywhere."""
        if job["type"] != "job":
            return
        kind = "success" if job["status"] == "successful" else "error"
        name = f"notification_templates_{kind}"
        key = ("job_template", job["job_template"], name)
        for number in self.store.lists.get(key, []):
            self.notifications.append({"template": number, "job": job["id"], "kind": kind})
