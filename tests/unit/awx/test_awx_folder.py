# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""awx/, the folder that is an AWX project, is complete: no file that it names is missing, and it
needs no network.
"""

from __future__ import annotations

import configparser
import re
import subprocess

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT, environment

AWX = CHECKOUT / "awx"
PLAYBOOKS = sorted(AWX.glob("*.yml"))
PLAYBOOKS.remove(AWX / "execution-environment.yml")
# What AWX lists as a playbook: its awx/main/utils/ansible.py looks for a line of this form.
LISTED = re.compile(
    r"^\s*?-?\s*?(?:hosts|(?:ansible\.builtin\.)?import_playbook):\s*?.*?$", re.MULTILINE
)


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_awx_lists_each_playbook_and_the_collection_has_what_it_imports(path):
    assert LISTED.search(path.read_text())
    plays = yaml.safe_load(path.read_text())
    names = [play.get("ansible.builtin.import_playbook") for play in plays]
    assert all(name or "hosts" in play for name, play in zip(names, plays))
    for name in filter(None, names):
        namespace, collection, playbook = name.split(".")
        assert (namespace, collection) == ("offload", "lab")
        assert (CHECKOUT / "playbooks" / f"{playbook}.yml").is_file()


def test_ansible_reads_all_of_them_here():
    variables = dict(environment(), ANSIBLE_CONFIG=str(AWX / "ansible.cfg"))
    done = subprocess.run(
        [BIN / "ansible-playbook", "--syntax-check", "-i", "localhost,", *PLAYBOOKS],
        cwd=AWX,
        env=variables,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_sync_installs_only_what_the_collection_needs():
    assert not (
        CHECKOUT / "requirements.yml"
    ).exists()  # AWX would install it at each sync of this repository
    listed = yaml.safe_load((AWX / "collections/requirements.yml").read_text())["collections"]
    needed = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text())["dependencies"]
    assert {entry["name"]: entry["version"] for entry in listed} == {
        "https://github.com/offload-lab/offload.lab.git": "main",
        **needed,
    }


@pytest.mark.parametrize("name", ["ansible.cfg", "awx/ansible.cfg"])
def test_the_collections_of_an_execution_environment_are_not_hidden(name):
    parser = configparser.ConfigParser()
    parser.read(CHECKOUT / name)
    assert "/usr/share/ansible/collections" in parser["defaults"]["collections_path"].split(":")
