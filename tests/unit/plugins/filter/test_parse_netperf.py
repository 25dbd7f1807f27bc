# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from jinja2.nativetypes import NativeEnvironment

from ansible_collections.offload.lab.plugins.filter import parse_netperf as plugin

parse = plugin.FilterModule().filters()["parse_netperf"]
DOCUMENTED = yaml.safe_load(Path(plugin.__file__).with_suffix(".yml").read_text(encoding="utf-8"))
TEXT = "OMNI Send TEST from a () port 0 to b () port 0\nTHROUGHPUT=941.50\nTHROUGHPUT_UNITS=10^6bits/s\n"
FAILED = "netperf: command not found\n"


def test_text_of_a_run():
    assert [run["throughput_mbps"] for run in parse(TEXT)] == [941.5]


def test_every_key_is_documented():
    assert sorted(parse(TEXT)[0]) == sorted(DOCUMENTED["RETURN"]["_value"]["contains"])


def shown(environment, task):
    """Return the message of a debug task, whose variables rest on those before them."""
    values = {}
    for name, text in task["vars"].items():
        values[name] = environment.from_string(text).render(values)
    return environment.from_string(task["ansible.builtin.debug"]["msg"]).render(values)


def test_examples():
    """The expressions of the examples, on a run in ``run.stdout`` and a log of one that failed."""
    environment = NativeEnvironment()
    environment.filters["offload.lab.parse_netperf"] = parse
    environment.globals.update(run={"stdout": TEXT}, lookup=lambda *_names: TEXT + FAILED)
    tasks = yaml.safe_load(DOCUMENTED["EXAMPLES"])
    throughput, failed = [
        shown(environment, task) for task in tasks if "ansible.builtin.debug" in task
    ]
    assert throughput == 941.5
    assert [run["error"] for run in failed] == ["netperf: command not found"]


@pytest.mark.parametrize("value", [None, 3, ["TCP STREAM TEST"], {}, b"TCP STREAM TEST"])
def test_no_text(value):
    with pytest.raises(AnsibleFilterError, match="expected the text that netperf printed"):
        parse(value)
