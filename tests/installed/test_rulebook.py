# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rulebook of extensions/eda, run by ansible-rulebook: an alert of Prometheus starts playbook
drift.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

pytestmark = pytest.mark.nightly  # makes an environment of its own, and starts Java
ENVIRONMENT = ".cache/rulebook"
ADDRESS = "http://127.0.0.1:5050/alerts"
PATIENCE = 300  # seconds; it takes 10 where nothing else runs
INVENTORY = """\
lab_nodes:
  hosts:
    node1:
  vars:
    ansible_connection: local
    ansible_python_interpreter: /usr/bin/python3
    offload_lab_applied_file: nothing.json
"""


def alert(name):
    """Return what Alertmanager posts to a webhook while an alert of this name goes on."""
    labels = {"alertname": name, "instance": "node1:9100"}
    firing = {"status": "firing", "labels": labels}
    return {"version": "4", "groupKey": "{}", "status": "firing", "alerts": [firing]}


def until(condition, process):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.5)


def post(document):
    """Return whether the webhook took it."""
    request = urllib.request.Request(
        ADDRESS, json.dumps(document).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture(name="command")
def _command(collections, home, tmp_path):
    """Return how ansible-rulebook is started with the installed collection: its arguments of Popen."""
    if shutil.which("java") is None:
        pytest.skip("needs Java 17 or later; apt-get install default-jre-headless")
    run(
        ["sh", "tools/setup.sh", ENVIRONMENT, "best", "requirements/rulebook.txt"],
        timeout=1200,
    )
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    path = f"{CHECKOUT / ENVIRONMENT}/bin{os.pathsep}{home['PATH']}"
    environment = {**home, "ANSIBLE_COLLECTIONS_PATH": str(collections), "PATH": path}
    argv = ["ansible-rulebook", "-r", "offload.lab.checksum_errors", "-i", "hosts.yml"]
    return {"args": argv, "env": environment, "cwd": tmp_path}


def test_an_alert_starts_drift_and_another_does_not(command, tmp_path):
    printed = tmp_path / "printed.txt"
    with printed.open("w") as output:
        process = subprocess.Popen(**command, stdout=output, stderr=subprocess.STDOUT)
        try:
            until(lambda: post(alert("HostDown")), process)
            assert post(alert("ChecksumErrorsRise"))
            until(lambda: "PLAY RECAP" in printed.read_text(), process)
        finally:
            process.terminate()
            process.wait(PATIENCE)
    text = printed.read_text()
    assert "node1: nothing was applied" in text
    assert text.count("PLAY RECAP") == 1
