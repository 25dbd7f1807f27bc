# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A job's private data folder, made of awx/ and awx/runner as docs/awx.md says, and what
ansible-runner left in it.
"""

from __future__ import annotations

import json
import shutil

from ansible_collections.offload.lab.tests.support import CHECKOUT


def make(private, **variables):
    """Make the folder, with an inventory that is empty yet, and these variables of the collection
    for the job.
    """
    shutil.copytree(CHECKOUT / "awx/runner", private)
    shutil.copytree(CHECKOUT / "awx", private / "project", ignore=shutil.ignore_patterns("runner"))
    (private / "inventory/hosts").unlink()
    (private / "env/extravars").write_text(
        json.dumps({f"offload_lab_{key}": value for key, value in variables.items()})
    )


def events(private, ident):
    """Return the events of a run in their order."""
    events_of = [
        json.loads(path.read_text())
        for path in (private / f"artifacts/{ident}/job_events").glob("*-*.json")
    ]
    return sorted(events_of, key=lambda event: event["counter"])


def artifacts(run):
    """Return what the tasks set_stats of a run left, by its events."""
    return run[-1]["event_data"]["artifact_data"]
