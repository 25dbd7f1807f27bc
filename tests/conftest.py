# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of all tests, and the rule that CI skips nothing.

A test that cannot run here (no root, no podman, no corpus) is skipped with the reason. With
``CI=true`` the same skip is a failure: there everything must run.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

# As plugin_utils/_statistics/libraries.py does, before a test imports numpy: with small matrices
# threads only cost time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# The longest begin first, so that no worker has one left when the others have ended.
ORDER = (
    "system",
    "integration",
    "molecule",
    "lint",
    "older_core",
    "instruments",
    "installed",
    "unit/roles",
)
HALVED = "tests/integration/test_targets.py"
# They use the lab of tests/system/conftest.py, which takes half a minute of CPU time to make: one
# worker, one lab.
ONE_LAB = tuple(
    f"tests/system/test_{name}.py"
    for name in ("apply", "evidence", "guards", "lab", "time_budget", "trials", "verify")
)
# Their cards have the same names, by which the kernel's events are counted in all namespaces.
ONE_CARD = tuple(
    f"tests/integration/test_{name}.py"
    for name in ("crossing", "payload", "reproduce", "tracepoints")
)
ONE_BY_ONE = (
    "tests/lint/test_linters.py",
    "tests/molecule/test_molecule.py",
    "tests/older_core/test_units.py",
)
# A test that asks for one of these fixtures gets the mark; pyproject.toml says what each means.
MARKS = {
    "root_required": "machine",
    "lab_packages_required": "lab",
    "podman_required": "containers",
    "chromium_required": "browser",
}
TESTS = Path(__file__).resolve().parent
IN_CI = os.environ.get("CI") == "true"


def _fail_if_skipped(report):
    if IN_CI and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = f"CI=true, and nothing may be skipped there. {reason}"
    return report


def _scope_of(test):
    """Return what one worker runs, one after the other: a file, several, half of one, a test that
    takes minutes.
    """
    path = test.split("::", 1)[0]
    if path in ONE_LAB:
        return "one lab"
    if path in ONE_CARD:
        return "one card"
    if path == HALVED:
        return path + test.partition("[")[2].partition("-")[0].rstrip("]")
    return test if path in ONE_BY_ONE else path


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: see pyproject.toml, which ansible-test does not read")


def pytest_itemcollected(item):
    for fixture in MARKS.keys() & set(getattr(item, "fixturenames", ())):
        item.add_marker(MARKS[fixture])


def pytest_collection_modifyitems(items):
    folders = dict.fromkeys([*ORDER, *(_folder(item) for item in items)])
    items.sort(key=lambda item: list(folders).index(_folder(item)))


def _folder(item):
    parts = item.path.resolve().relative_to(TESTS).parts
    return "unit/roles" if parts[:2] == ("unit", "roles") else parts[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tell ``pytest -n`` which tests must not run at the same time."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 # older_core has no pytest-xdist

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return _scope_of(nodeid)

    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _fail_if_skipped((yield))


@pytest.fixture(scope="session")
def root_required():
    """The test makes namespaces or devices."""
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture(scope="session")
def podman_required(root_required):
    """The test starts containers, as root."""
    if shutil.which("podman") is None:
        pytest.skip("needs podman")
    if shutil.which("mmdebstrap") is None:
        pytest.skip("needs mmdebstrap, for the image of the containers")


@pytest.fixture(scope="session")
def lab_packages_required(root_required):
    """The test starts a lab: what its nodes run must be there (the playbook nodes.yml installs it)."""
    programs = ("ip", "ethtool", "ovs-vsctl", "netperf", "netserver", "ping", "tcpdump")
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs the programs {', '.join(missing)}; make test installs them")


@pytest.fixture(scope="session")
def chromium_required():
    """The test opens a page in a browser."""
    if shutil.which("chromium") is None:
        pytest.skip("needs chromium")
