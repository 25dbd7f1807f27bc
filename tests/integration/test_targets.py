# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each integration target, run by ansible-test as root, on devices that the target makes itself.

One call of ansible-test runs half of the targets that this session asks for: of the 5 s of a call 4
are its start. It runs in namespaces of its own (tools/isolated.sh), while the other half and other
tests run.

ansible-test takes the environment that runs the tests: with ``--venv`` it would make another,
without the collections of requirements/collections.yml.

What a target does in addition to the modules under test (``ip netns add``) is ``raw`` where it can
be: each
takes 0.25 s of CPU time less than ``command``, which starts a Python.
"""

from __future__ import annotations

import os
import re
import sys

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

TARGETS = sorted(
    path.name
    for path in CHECKOUT.glob("tests/integration/targets/*")
    if path.is_dir() and not path.name.startswith("setup_")  # what targets share
)
# Nodes are made and taken down by each system test, and every campaign runs the modules that measure.
EVERYWHERE = {
    "lab_node",
    "manifest_info",
    "module_report",
    "netserver",
    "nodes",
    "path_check_info",
    "plan",
    "preflight_info",
    "probe",
    "request",
    "steps",
    "visit",
}
# Their results from folders are tested without Ansible too, in tests/unit.
FROM_FOLDERS = {"compare", "history", "import_logs", "kernels_bisect", "kernels_report"}
# tests/system and tests/molecule run their modules on labs and in containers each day.
ON_LABS = {"applied", "applied_info", "discover_info", "persist"}
# By day a target strikes some of its blows, at night these strike all.
WHOLE = {"dead_man_switch_whole", "module_tenants_whole"}
NIGHTLY = {*EVERYWHERE, *FROM_FOLDERS, *ON_LABS, *WHOLE, "ethtool_examples"}
HALVES = {"first": TARGETS[::2], "second": TARGETS[1::2]}
# ansible-test announces each target by one of these lines.
BEGIN = re.compile(r"^Running (\S+) integration test (?:role|script)", re.MULTILINE)
FAILED = re.compile(
    r"^FATAL: The \d+ integration test\(s\) listed below .*? failed.*?:\n((?:\S+\n?)*)",
    re.MULTILINE,
)


@pytest.fixture(scope="module", name="outputs")
def _outputs(lab_packages_required, request):
    """Return ``{target: what it printed}`` of a half, the targets that failed, and all that was
    printed.
    """
    names_asked = [
        item.callspec.params.get("target")
        for item in request.session.items
        if item.path == request.path
    ]
    targets = [target for target in HALVES[request.param] if target in names_asked]
    cpus = sorted(
        os.sched_getaffinity(0)
    )  # an isolated run stays on one CPU, and two share none where there are two
    cpu = cpus[list(HALVES).index(request.param) % len(cpus)]
    output = run(
        [
            "taskset",
            "--cpu-list",
            cpu,
            sys.executable,
            "tools/run_ansible_test.py",
            "integration",
            "--allow-root",
            "--allow-destructive",
            "--continue-on-error",
            *targets,
        ],
        rc=None,
        timeout=3600,
    )
    parts = BEGIN.split(output)
    failed = FAILED.search(output)
    return dict(zip(parts[1::2], parts[2::2])), failed.group(1).split() if failed else [], output


@pytest.mark.parametrize(
    ("outputs", "target"),
    [
        pytest.param(half, target, marks=pytest.mark.nightly if target in NIGHTLY else ())
        for half, names in HALVES.items()
        for target in names
    ],
    indirect=["outputs"],
    scope="module",
)  # else each target runs its half again
def test_target(outputs, target):
    printed, failed, _whole = outputs
    assert target not in failed, printed.get(target, "")[-5000:]
    assert "PLAY RECAP" in printed.get(target, ""), (
        "ansible-test did not run it:\n" + outputs[2][-3000:]
    )


@pytest.mark.parametrize("outputs", HALVES, indirect=True)
def test_nothing_is_left(outputs):
    assert "Left behind" not in outputs[2], outputs[2][-3000:]
