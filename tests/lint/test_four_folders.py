# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built tarball with only meta, plugins, roles and playbooks left, as some packages ship a
collection: nothing that these need is elsewhere. The tests of tests/installed run with these alone.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT, FOUR_FOLDERS, run

KEPT = ("MANIFEST.json", *(f"{folder}/" for folder in FOUR_FOLDERS))
PLAYBOOKS = sorted(f"offload.lab.{path.stem}" for path in CHECKOUT.glob("playbooks/*.yml"))


@pytest.fixture(name="built", scope="module")
def _built(tmp_path_factory):
    """The names in the tarball, and a collections path with these four folders of it."""
    build = tmp_path_factory.mktemp("built")
    run(["ansible-galaxy", "collection", "build", "--output-path", build])
    (tarball,) = build.glob("*.tar.gz")
    root = build / "ansible_collections/offload/lab"
    with tarfile.open(tarball) as archive:
        members = archive.getmembers()
        kept = [member for member in members if member.name.startswith(KEPT)]
        archive.extractall(root, members=kept, filter="data")
    return [member.name for member in members], build


@pytest.mark.nightly
def test_all_playbooks_are_read(built):
    _names, path = built
    printed = run(
        ["ansible-playbook", "--syntax-check", "-i", "localhost,", *PLAYBOOKS],
        cwd=path,
        ANSIBLE_COLLECTIONS_PATH=str(path),
    )
    root = path / "ansible_collections/offload/lab/playbooks"
    assert [name for name in PLAYBOOKS if f"{root}/{name.split('.')[-1]}.yml" not in printed] == []


def test_no_link_leads_out_of_the_four(built):
    _names, path = built
    links = [entry for entry in path.rglob("*") if entry.is_symlink()]
    assert [str(link) for link in links if not link.exists()] == []


def test_an_execution_environment_finds_what_it_needs(built):
    _names, path = built
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ansible_builder._target_scripts.introspect",
            "introspect",
            str(path),
        ],
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "scipy  # from collection offload.lab" in done.stdout
    assert "openssh-clients [platform:rpm]  # from collection offload.lab" in done.stdout


def test_ansible_builder_makes_a_context_of_them(built, tmp_path):
    _names, path = built
    root = path / "ansible_collections/offload/lab"
    definition = yaml.safe_load((CHECKOUT / "awx/execution-environment.yml").read_text())
    needs = yaml.safe_load((root / "meta/execution-environment.yml").read_text())["dependencies"]
    definition["dependencies"].update({kind: str(root / name) for kind, name in needs.items()})
    del definition["dependencies"]["galaxy"]  # as where the base has the collections
    (tmp_path / "ee.yml").write_text(yaml.safe_dump(definition))
    run(["ansible-builder", "create", "-f", tmp_path / "ee.yml", "-c", tmp_path / "context"])
    context = tmp_path / "context/_build"
    assert (context / "requirements.txt").read_text() == (root / needs["python"]).read_text()
    assert (context / "bindep.txt").read_text() == (root / needs["system"]).read_text()


def test_the_tarball_has_what_galaxy_asks_for_and_nothing_of_the_checkouts_tools(built):
    names, _path = built
    expected_files = {
        "CODE_OF_CONDUCT.md",
        "LICENSE",
        "README.md",
        "meta/runtime.yml",
        "tests/config.yml",
    }
    assert expected_files - set(names) == set()
    ours = (".github", ".nox", "antsibull-nox.toml", "noxfile.py", "tests/unit", "tests/conftest")
    assert [name for name in names if name.startswith(ours)] == []
