# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is fetched from elsewhere is known before: Python packages, actions and images by checksum."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT

LOCKS = sorted(path for path in CHECKOUT.glob("requirements/*.txt"))
WORKFLOWS = sorted(
    [*CHECKOUT.glob(".github/workflows/*.yml"), *CHECKOUT.glob("examples/github/*.yml")]
)
REQUIREMENT = re.compile(r"^[A-Za-z0-9._-]+==[^\s;]+( ; .*)?( --hash=sha256:[0-9a-f]{64})+$")
# Where a command is ours: scripts, pipelines, pages and examples. Plugins name a package in a message.
OURS = re.compile(
    r"(^|/)(Makefile|run)$|\.(sh|md|ya?ml|toml)$|^(tools|tests/installed|tests/older_core|\.ci)/.*\.py$"
)
# {a file: what it may install without checksums, and why}
UNPINNED = {
    "tools/run_ansible_test.py": "ansible-test installs its own requirements; the pip for it is pinned (next test)",
}


def tracked():
    """Return {name: text} of the files that have commands of ours."""
    names = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=CHECKOUT, text=True
    ).splitlines()
    return {
        name: (CHECKOUT / name).read_text()
        for name in names
        if OURS.search(name) and (CHECKOUT / name).is_file()
    }


def requirements(path):
    """Return the requirements of a lock file, each as one line."""
    text = re.sub(r"\s*#.*", "", path.read_text()).replace("\\\n", " ")
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_each_requirement_has_a_version_and_checksums(path):
    wrong = [line for line in requirements(path) if not REQUIREMENT.match(line)]
    assert requirements(path) and wrong == []


def test_each_list_of_requirements_is_locked():
    lists = {path.stem for path in CHECKOUT.glob("requirements/*.in")}
    assert lists - {path.stem for path in LOCKS} == {"core-tests"}  # a part of others


def test_wheels_of_both_architectures_have_checksums():
    """Those that are compiled have a file for each Python and machine; uv writes the hashes of all."""
    for name in ("controller", "ee", "test"):
        counts = {
            line.split("==")[0]: line.count("--hash")
            for line in requirements(CHECKOUT / f"requirements/{name}.txt")
        }
        assert counts["cryptography"] > 20 and counts["pyyaml"] > 40, name


def test_actions_are_pinned_by_commit():
    used = [
        (path.name, action)
        for path in WORKFLOWS
        for action in re.findall(r"\buses:\s*(\S+)", path.read_text())
    ]
    assert used
    assert [entry for entry in used if not re.search(r"@[0-9a-f]{40}$", entry[1])] == []


def test_nothing_is_downloaded_into_a_shell():
    pattern = re.compile(r"(curl|wget)\b[^\n|]*\|\s*(sudo\s+)?(ba|z)?sh\b")
    assert [name for name, text in tracked().items() if pattern.search(text)] == []


def pip_commands(text):
    """Return each command of pip that fetches something, with what follows it."""
    text = text.replace("\\\n", " ")
    starts = re.finditer(r"\bpip3?[\"']?[ ,]+[\"']?(?:install|download|wheel)\b", text)
    return [text[start.start() : start.start() + 240] for start in starts]


def test_pip_takes_only_what_a_lock_file_has():
    commands = [
        (name, command)
        for name, text in tracked().items()
        if name not in UNPINNED
        for command in pip_commands(text)
    ]
    assert len(commands) > 5
    allowed = re.compile(r"--require-hashes|\*CHECKED")
    assert [entry for entry in commands if not allowed.search(entry[1])] == []


def test_the_pip_of_ansible_test_is_pinned():
    text = (CHECKOUT / "tools/run_ansible_test.py").read_text()
    assert text.count("--require-hashes") == 1 and text.count('"download"') == 1


def test_the_image_is_made_of_what_is_known():
    definition = yaml.safe_load((CHECKOUT / "awx/execution-environment.yml").read_text())
    assert re.search(r"@sha256:[0-9a-f]{64}$", definition["images"]["base_image"]["name"])
    dependencies = definition["dependencies"]
    refs = dependencies["ansible_core"]["package_pip"]
    assert "--require-hashes" in refs and "-r /output/locks/ee.txt" in refs
    assert "ansible_runner" not in dependencies  # it is in the lock file
    steps = definition["additional_build_steps"]
    assert "ENV PIP_NO_INDEX=1" in steps["append_base"]
    locked = {line.split("==")[0] for line in requirements(CHECKOUT / "requirements/ee.txt")}
    expected_requirements = (CHECKOUT / "meta/ee-requirements.txt").read_text().splitlines()
    names = {
        line.strip().lower() for line in expected_requirements if line and not line.startswith("#")
    }
    builder = {"bindep", "pyyaml", "packaging", "dumb-init", "ansible-runner", "ansible-core"}
    assert names | builder <= locked
