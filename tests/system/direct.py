# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module inside a node without a process of Ansible: of the 1.5 s of CPU time that a call takes,
0.2 are the module.

How Ansible itself brings a module to a node is tested by the integration targets and by every
playbook of a test.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from types import SimpleNamespace

import ansible

from ansible_collections.offload.lab.plugins.module_utils._nodes.node import enter
from ansible_collections.offload.lab.tests.support import CHECKOUT, run

PYTHON = "/usr/bin/python3"  # of the nodes, see lab_hosts
PYTHONPATH = os.pathsep.join([str(Path(ansible.__path__[0]).parent), str(CHECKOUT / ".build/live")])
# What Ansible's wrapper does on a node. Since ansible-core 2.19 a module asks how its arguments
# were written.
RUN_MODULE = """
import json, runpy, sys
from ansible.module_utils import basic
basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": json.loads(sys.argv[2])}).encode()
basic._ANSIBLE_PROFILE = "legacy"
runpy.run_module("ansible_collections.offload.lab.plugins.modules." + sys.argv[1], run_name="__main__")
"""
ACTIONS = {path.stem for path in CHECKOUT.glob("plugins/action/*.py")}


def call(lab, host, module, arguments):
    """Run a module on a host of a lab, through its action plugin where it has one, and return its
    result.
    """

    name = module.rpartition(".")[2]

    def on_node(module_name=name, module_args=arguments, task_vars=None):
        return run_module(lab, host, module_name.rpartition(".")[2], module_args)

    if name not in ACTIONS:
        return on_node(name, arguments)
    result = action(
        name, arguments, on_node, lambda line: lab.inside(host[4:], "sh", "-c", line)
    ).run(task_vars={"inventory_hostname": host})
    assert not result.get("failed"), result
    return result


def run_module(lab, host, name, arguments):
    """Run a module inside a node, in the folder and with the variables of Ansible's connection."""
    argv = enter(
        f"{lab.name}-{host}",
        ["env", "-C", "/", PYTHON, "-c", RUN_MODULE, name, json.dumps(arguments)],
    )
    output = run(argv, PYTHONPATH=PYTHONPATH, OFFLOAD_LAB_NAME=lab.name)
    return json.loads(next(line for line in reversed(output.splitlines()) if line.startswith("{")))


def action(name, arguments, on_node, shell):
    """Return an action plugin of the collection that has nothing of Ansible around it but its base
    class.
    """
    plugin = importlib.import_module(
        f"ansible_collections.offload.lab.plugins.action.{name}"
    ).ActionModule
    task = SimpleNamespace(
        args=arguments, action=f"offload.lab.{name}", async_val=0, check_mode=False
    )
    new_action = plugin(task, SimpleNamespace(_shell=SimpleNamespace(tmpdir="")), *[None] * 4)
    new_action._execute_module = on_node
    new_action._low_level_execute_command = shell
    return new_action
