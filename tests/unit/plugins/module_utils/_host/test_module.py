# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of every module: whatever its body meets, a user reads one message and no traceback."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import (
    CommandError,
    InputError,
    LabError,
)
from ansible_collections.offload.lab.plugins.module_utils._host import module as host_module
from ansible_collections.offload.lab.tests.support import CHECKOUT

# Of a checkout, or of ansible-test's copy of it.
COLLECTIONS = next(
    folder
    for folder in (CHECKOUT / ".build/live", CHECKOUT.parent.parent.parent)
    if (folder / "ansible_collections/offload/lab").is_dir()
)
MODULES = [
    path.stem
    for path in sorted((CHECKOUT / "plugins/modules").glob("*.py"))
    if "def main" in path.read_text()
]


class EndedError(Exception):
    """A module ends its process; a test goes on."""


@pytest.fixture(name="run_module")
def _run_module(monkeypatch):
    """Return what runs a body and returns ``(options of AnsibleModule, how it ended, result)``."""

    class Module:
        def __init__(self, **options):
            self.options = options
            self.ended = None

        def exit_json(self, **result):
            raise EndedError(self.options, "exit", result)

        def fail_json(self, **result):
            raise EndedError(self.options, "fail", result)

    def run(body, **options):
        monkeypatch.setattr(host_module, "AnsibleModule", Module)
        with pytest.raises(EndedError) as caught:
            host_module.run_module({"name": {"type": "str"}}, body, **options)
        return caught.value.args

    return run


def body_that_raises(error):
    def body(module):
        raise error

    return body


def test_a_result_is_the_modules_result(run_module):
    options, ended, result = run_module(
        lambda module: {"changed": True}, required_if=[("a", "b", ["c"])]
    )
    assert (ended, result) == ("exit", {"changed": True})
    assert options == {
        "argument_spec": {"name": {"type": "str"}},
        "supports_check_mode": True,
        "required_if": [("a", "b", ["c"])],
    }


@pytest.mark.parametrize(
    "error, message",
    [
        (LabError("it is broken", "here", "Repair it."), "here: it is broken. Repair it."),
        (InputError("not a number", "size 'x'"), "size 'x': not a number."),
        (CommandError("failed", ["ip", "link"], 1), "ip link: failed."),
        (
            FileNotFoundError(2, "No such file or directory", "/run/x"),
            "/run/x: No such file or directory.",
        ),
        (
            PermissionError(1, "Operation not permitted"),
            "Operation not permitted. Run it as root (become: true).",
        ),
        (OSError("timed out"), "timed out."),
    ],
)
def test_an_error_that_can_be_foreseen_is_one_message(run_module, error, message):
    assert run_module(body_that_raises(error))[1:] == ("fail", {"msg": message})


def test_a_mistake_of_ours_is_not_hidden(run_module, monkeypatch):
    monkeypatch.setattr(host_module, "AnsibleModule", lambda **options: None)
    with pytest.raises(ZeroDivisionError):
        host_module.run_module({}, lambda module: {"changed": 1 / 0})


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_this_frame(name):
    text = (CHECKOUT / "plugins/modules" / f"{name}.py").read_text()
    assert (
        text.count("run_module(") == 1 and "AnsibleModule(" not in text and "fail_json" not in text
    )


def test_a_real_module_that_meets_an_oserror_reports_it():
    arguments = {"path": "/proc/nowhere/snapshot.json", "other": {"a": 1}}
    ended = subprocess.run(
        [sys.executable, "-m", "ansible_collections.offload.lab.plugins.modules.snapshot"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        cwd=COLLECTIONS,
        text=True,
        capture_output=True,
        check=False,
    )
    answer = json.loads(ended.stdout)
    assert answer["failed"] and answer["msg"] == "/proc/nowhere: No such file or directory.", answer
    assert "Traceback" not in ended.stdout + ended.stderr
