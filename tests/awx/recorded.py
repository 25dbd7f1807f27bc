# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What playbooks awx_setup and awx_teardown ask of AWX, without an AWX.

Each module that the playbooks use is replaced by one with the same argument spec, which writes down
what it was given: what AWX's modules would refuse is refused here.
"""

from __future__ import annotations

import functools
import importlib
import json
import re

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

MODULES = sorted(
    {
        name
        for playbook in ("awx_setup", "awx_teardown")
        for name in re.findall(
            r"awx\.awx\.(\w+):$", (CHECKOUT / f"playbooks/{playbook}.yml").read_text(), re.MULTILINE
        )
    }
)
RECORDER = """
from ansible.module_utils.basic import AnsibleModule
import json
module = AnsibleModule(argument_spec={spec!r})
with open({calls!r}, "a") as stream:
    stream.write(json.dumps([{name!r}, module.params]) + "\\n")
module.exit_json(changed=False)
"""
GIVEN = {
    "offload_lab_awx_project_url": "https://git.example.org/lab.git",
    "offload_lab_awx_image": "example.org/ee:1",
    "offload_lab_awx_ssh_key": "key",
    "offload_lab_awx_schedule": "DTSTART:20260101T030000Z RRULE:FREQ=WEEKLY",
    "offload_lab_awx_compare": ["old", "new"],
    "offload_lab_awx_job_variables": {
        "offload_lab_results_host": "store",
        "offload_lab_campaign_file": "demo.yml",
    },
    "offload_lab_awx_notification": {
        "type": "webhook",
        "configuration": {"url": "https://example.org"},
    },
}


class CapturedError(Exception):
    """Carries the argument spec of a module."""


def argument_spec(name):
    """Return the argument spec that a module of awx.awx gives to its base class."""
    module = importlib.import_module(f"ansible_collections.awx.awx.plugins.modules.{name}")

    def capture(argument_spec, **_more):
        raise CapturedError(argument_spec)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(CapturedError) as caught:
        patch.setattr(module, "ControllerAPIModule", capture)
        module.main()
    return caught.value.args[0]


def recorder(path):
    """Return what runs a playbook, once, and returns ``[(module, its arguments)]``."""
    folder = path / "ansible_collections/awx/awx"
    (folder / "plugins/modules").mkdir(parents=True)
    (folder / "galaxy.yml").write_text("namespace: awx\nname: awx\nversion: 24.6.1\n")
    calls = path / "calls"
    for name in MODULES:
        text = RECORDER.format(spec=argument_spec(name), calls=str(calls), name=name)
        (folder / f"plugins/modules/{name}.py").write_text(text)

    @functools.lru_cache(maxsize=None)
    def play(playbook, **more):
        calls.write_text("")
        argv = ["ansible-playbook", "-i", "localhost,", f"playbooks/{playbook}.yml"]
        run(
            [*argv, "-e", json.dumps({**GIVEN, **more})],
            ANSIBLE_COLLECTIONS_PATH=f"{path}:{CHECKOUT / '.build/live'}",
        )
        return [json.loads(line) for line in calls.read_text().splitlines()]

    return play
