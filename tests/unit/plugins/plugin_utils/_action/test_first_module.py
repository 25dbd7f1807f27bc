# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host without a usable Python is one clear message of the first module."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._action.first_module import python_problem
from ansible_collections.offload.lab.tests.support import CHECKOUT, run

NO_JSON = "Module result deserialization failed: No start of json char found"
# What ansible-core 2.21 returned of Python 3.6.15 and 3.7.16, and what 2.18's own check says.
OLD = (
    {"msg": NO_JSON, "module_stderr": "SyntaxError: future feature annotations is not defined"},
    {
        "msg": NO_JSON,
        "module_stderr": 'File "x.zip/__init__.py", line 50\n    def f(a, /):\nSyntaxError: invalid syntax',
    },
    {"msg": "ansible-core requires a minimum of Python version 3.8. Current version: 3.6.15"},
)
MISSING = (
    {
        "msg": "The module interpreter '/usr/bin/python3' was not found.",
        "module_stderr": "/bin/sh: 1: /usr/bin/python3: not found",
    },
    {"msg": "MODULE FAILURE", "module_stderr": "/bin/sh: 1: /usr/bin/python3: not found"},
    {
        "msg": "MODULE FAILURE",
        "module_stderr": "/bin/bash: line 1: /usr/bin/python3.9: No such file or directory",
    },
)


@pytest.mark.parametrize("result", OLD)
def test_an_old_python(result):
    text = python_problem({"failed": True, **result}, "/usr/bin/python3")
    assert text.startswith("/usr/bin/python3 is too old. Modules need Python 3.8 or later")
    assert "dnf install python3.11" in text


@pytest.mark.parametrize("result", MISSING)
def test_no_python(result):
    text = python_problem({"failed": True, **result}, "/usr/bin/python3")
    assert text.startswith("there is no Python at /usr/bin/python3.")
    assert "ansible.builtin.raw" in text


@pytest.mark.parametrize(
    "result",
    [
        {"changed": False},
        {"failed": True, "msg": "eth9: there is no such device"},
        {"failed": True, "msg": "MODULE FAILURE", "module_stderr": "sudo: a password is required"},
        {"failed": True, "msg": "MODULE FAILURE", "module_stderr": "/bin/sh: 1: sudo: not found"},
        {"msg": "fine", "module_stderr": "SyntaxError: of a user's sitecustomize"},
    ],
)
def test_other_results_stay(result):
    assert python_problem(result, "/usr/bin/python3") == ""


MODULES = {
    "preflight_info": "device=lo",
    "discover_info": '{"ends": [{"name": "a", "address": "192.0.2.1"}]}',
    "traffic_info": "seconds=1",
}


def ad_hoc(module, interpreter, rc):
    argv = [
        "ansible",
        "localhost",
        "-i",
        "localhost,",
        "-c",
        "local",
        "-m",
        f"offload.lab.{module}",
    ]
    argv += ["-a", MODULES[module], "-e", f"ansible_python_interpreter={interpreter}"]
    collections = {"ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".build/live")}
    return " ".join(run(argv, rc=rc, **collections).split())


@pytest.mark.parametrize("module", MODULES)
def test_the_modules_that_come_first_explain_it(module, tmp_path):
    assert "localhost: there is no Python at /nonexistent/python3." in ad_hoc(
        module, "/nonexistent/python3", 2
    )
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\necho 'SyntaxError: future feature annotations' >&2\nexit 1\n")
    old.chmod(0o755)
    assert f"localhost: {old} is too old." in ad_hoc(module, old, 2)


def test_a_good_python_gives_the_result():
    assert "localhost | SUCCESS" in ad_hoc("preflight_info", sys.executable, 0)
