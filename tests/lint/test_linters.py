# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every linter runs without findings."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

OWN_PYTHON = ["--python", f"{sys.version_info.major}.{sys.version_info.minor}"]
LIVE = CHECKOUT / ".build/live"
ANSIBLE_LINT = ["ansible-lint", "--offline", "--profile", "production", "--strict"]
# What does the work. A playbook is order only; half of the time went into a check of each one's
# syntax, which each test that runs it shows.
SHIPPED = ["galaxy.yml", "meta", "roles"]
WORKFLOW_SCHEMA = ["check-jsonschema", "--builtin-schema"]
GITHUB_WORKFLOWS = [
    *map(str, sorted(CHECKOUT.glob(".github/workflows/*.yml"))),
    "examples/github/nightly.yml",
]
SHELL_SCRIPTS = sorted(
    str(path.relative_to(CHECKOUT))
    for path in [
        *CHECKOUT.glob("tools/**/*.sh"),
        *CHECKOUT.glob("tests/integration/targets/*/*.sh"),
        CHECKOUT / ".ci/run",
    ]
)


def name_of(argv):
    """Return the linter, and what distinguishes its two calls."""
    if argv[0] == "ruff":
        return " ".join(argv[:2])
    return argv[2] if argv[0] == "check-jsonschema" else argv[0]


@pytest.mark.parametrize(
    "argv",
    [
        ["ruff", "check"],
        ["ruff", "format", "--check"],
        ["mypy"],
        [*ANSIBLE_LINT, *SHIPPED],
        [
            "antsibull-docs",
            "lint-collection-docs",
            "--plugin-docs",
            "--validate-collection-refs",
            "dependent",
            ".",
        ],
        ["antsibull-changelog", "lint"],
        ["shellcheck", *SHELL_SCRIPTS],
        [*WORKFLOW_SCHEMA, "vendor.github-workflows", *GITHUB_WORKFLOWS],
        [*WORKFLOW_SCHEMA, "vendor.gitlab-ci", "examples/gitlab/gitlab-ci.yml"],
        pytest.param(["nox", "--list"], marks=pytest.mark.nightly),
    ],
    ids=name_of,
)
def test_linter(argv):
    run(argv, ANSIBLE_COLLECTIONS_PATH=str(LIVE))


@pytest.mark.nightly
def test_ansible_lint_of_all():
    """The playbooks too, also the playbooks of tests, of AWX and of Molecule."""
    run(ANSIBLE_LINT, ANSIBLE_COLLECTIONS_PATH=str(LIVE))


# Of a day's sanity these cost most: ruff has the rules of two, yamllint's files belong to
# ansible-lint, and test_ansible_doc prints all documentation.
AT_NIGHT = ("pylint", "pep8", "yamllint", "ansible-doc")


def without(tests):
    """Return the arguments that leave out these tests of sanity."""
    return [word for test in tests for word in ("--skip-test", test)]


def alone(tests):
    """Return the arguments that ask for these tests of sanity alone."""
    return [word for test in tests for word in ("--test", test)]


@pytest.mark.parametrize(
    "test_name",
    [
        pytest.param([*OWN_PYTHON, *without([*AT_NIGHT, "import"])], id="the controller's Python"),
        pytest.param([*OWN_PYTHON, *alone(AT_NIGHT)], marks=pytest.mark.nightly, id="at night"),
        pytest.param(
            ["--test", "compile", "--test", "import"], marks=pytest.mark.nightly, id="all Pythons"
        ),
    ],
)
def test_ansible_test_sanity(test_name):
    """All of ansible-test's checks, with no file of exceptions.

    tests/older_core imports what runs on nodes on the oldest Python each day.
    """
    assert not list(CHECKOUT.glob("tests/sanity/ignore*"))
    run([sys.executable, "tools/run_ansible_test.py", "sanity", *test_name], timeout=1200)
