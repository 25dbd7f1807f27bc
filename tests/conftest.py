# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of all tests, and the rule that CI skips nothing.

A test that cannot run here (no root, no podman, no corpus) is skipped with the reason. With ``CI=true`` the same
skip is a failure: there everything must run.
"""
from __future__ import annotations

import os
import shutil

import pytest

MACHINE = ("faults", "integration", "molecule", "system")  # make devices and daemons, and look for what is left
IN_CI = os.environ.get("CI") == "true"


def _fail_if_skipped(report):
    if IN_CI and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = "CI=true, and nothing may be skipped there. {0}".format(reason)
    return report


def _scope_of(test):
    """Return what runs one after the other: all that changes the machine; linters by test, for each takes minutes."""
    path = test.split("::", 1)[0]
    folder = path.split("/")[1]
    return "machine" if folder in MACHINE else test if folder in ("lint", "older_core") else path


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
    missing = [name for name in ("ip", "ethtool", "ovs-vsctl", "netperf", "netserver") if shutil.which(name) is None]
    if missing:
        pytest.skip("needs the programs {0}; playbooks/nodes.yml installs them".format(", ".join(missing)))
