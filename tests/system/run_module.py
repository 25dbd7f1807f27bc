# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a module of the collection as it runs on a node: run_module.py NAME JSON (its arguments)."""
from __future__ import annotations

import json
import runpy
import sys

from ansible.module_utils import basic

basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": json.loads(sys.argv[2])}).encode()
basic._ANSIBLE_PROFILE = "legacy"  # ansible-core 2.19 and later ask how the arguments were written
runpy.run_module(f"ansible_collections.offload.lab.plugins.modules.{sys.argv[1]}", run_name="__main__")
