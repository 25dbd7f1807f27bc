# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit tests again where software is older: the controller on Python 3.11 with ansible-core 2.18,
targets on 3.8 and 3.13.

Python 3.11 is what Debian 12 has, 2.18 the oldest ansible-core that the collection supports. What a
template makes of a number is a text there.
"""

from __future__ import annotations

import fcntl
import os
import subprocess

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

CORE_PYTHON = "3.11"
NODE_PYTHON = "3.8"
GUESTS = (
    "tests/unit/roles/test_measure_guests.py"
    "::test_guests_measure_and_their_nodes_have_the_profile_too"
)
NODE_TESTS = ("tests/unit/plugins/module_utils", "tests/unit/plugins/modules")


def python_required(version):
    finder = ["sh", "tools/find_python.sh", version]
    if subprocess.run(finder, cwd=CHECKOUT, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"needs Python {version}")


@pytest.fixture(name="older_core", scope="module")
def _older_core():
    """The Python of a virtual environment with ansible-core 2.18."""
    python_required(CORE_PYTHON)
    venv = CHECKOUT / f".build/venv-{CORE_PYTHON}"
    with open(f"{venv}.lock", "w", encoding="ascii") as lock:  # workers of pytest -n share it
        fcntl.flock(lock, fcntl.LOCK_EX)
        run(["sh", "tools/setup.sh", venv, CORE_PYTHON, "requirements/older-core.txt"])
        run([venv / "bin/python", "tools/collections_setup.py", "requirements/collections.yml"])
    return venv / "bin/python"


@pytest.mark.nightly
def test_controller_code(older_core):
    """All unit tests; each day the whole collection is imported."""
    argv = [
        older_core,
        "-m",
        "pytest",
        "-m",
        "not nightly",
        "--hypothesis-profile=quick",
        "tests/unit",
    ]
    assert " passed" in run(argv, timeout=1200)


def import_all(python, files, *paths):
    """Import these files of the collection."""
    names = [
        ".".join(
            ("ansible_collections.offload.lab", *path.relative_to(CHECKOUT).with_suffix("").parts)
        )
        for path in files
    ]
    program = f"import importlib\nfor name in {names!r}: importlib.import_module(name)"
    paths_found = os.pathsep.join(map(str, [CHECKOUT / ".build/live", *paths]))
    run([python, "-c", program], PYTHONPATH=paths_found)


def test_controller_code_can_be_imported(older_core):
    """All of it, on the oldest Python of a controller."""
    files = sorted(CHECKOUT.glob("plugins/*/*.py")) + sorted(
        CHECKOUT.glob("plugins/plugin_utils/*/*.py")
    )
    import_all(
        older_core, [path for path in files if path.parent.name not in ("modules", "doc_fragments")]
    )


def test_a_campaign_is_measured(older_core):
    """From plan to report, by tenants that are hosts and their nodes, which only pretend."""
    argv = [
        older_core,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-m",
        "slow",
        GUESTS,
    ]
    assert "1 passed" in run(argv)


@pytest.fixture(name="module_utils", scope="module")
def _module_utils(older_core):
    """The folder of what a node gets of ansible-core: module_utils alone, as with a module."""
    [core] = older_core.parents[1].glob("lib/python*/site-packages/ansible/module_utils")
    package = older_core.parents[1] / "node/ansible"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    if not (package / "module_utils").is_symlink():
        (package / "module_utils").symlink_to(core)
    return package.parent


def test_node_code_can_be_imported(module_utils):
    """All of it, on the oldest Python of a node."""
    python_required(NODE_PYTHON)
    python = run(["sh", "tools/find_python.sh", NODE_PYTHON]).strip()
    files = sorted(CHECKOUT.glob("plugins/modules/*.py")) + sorted(
        CHECKOUT.glob("plugins/module_utils/*/**/*.py")
    )
    import_all(python, files, module_utils)


@pytest.fixture(name="node", scope="module")
def _node(module_utils):
    """A Python as a node has it, and the folder of what Ansible brings there."""
    python_required(NODE_PYTHON)
    venv = CHECKOUT / f".build/venv-{NODE_PYTHON}"
    run(["sh", "tools/setup.sh", venv, NODE_PYTHON, "requirements/node.txt"])
    return venv / "bin/python", module_utils


@pytest.mark.nightly  # by day they run on the newest Python, and each file is imported on 3.8
def test_node_code(node):
    """What runs on nodes, without ansible-test, which starts a process for each of these tests."""
    python, path = node
    argv = [python, "-m", "pytest", "-p", "no:cacheprovider", *NODE_TESTS]
    assert " passed" in run(argv, PYTHONPATH=str(path))


@pytest.mark.nightly
@pytest.mark.parametrize("version", [NODE_PYTHON, "3.13"])
def test_node_code_as_ansible_test_runs_it(older_core, version):
    python_required(version)
    units = ["units", "--venv", "--requirements", "--python", version]
    folders = [f"{folder}/" for folder in NODE_TESTS]
    output = run([older_core, "tools/run_ansible_test.py", *units, *folders])
    assert " passed" in output


@pytest.mark.nightly  # by day each file is imported, without sanity's watch over what it does then
def test_modules_can_be_imported(older_core):
    """On the oldest Python, as Ansible's own test does it."""
    python_required(NODE_PYTHON)
    run(
        [
            older_core,
            "tools/run_ansible_test.py",
            "sanity",
            "--test",
            "compile",
            "--test",
            "import",
            "--python",
            NODE_PYTHON,
        ]
    )
