# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shlex

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError, AnsibleFileNotFound
from ansible.playbook.play_context import PlayContext
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.connection import namespace
from ansible_collections.offload.lab.plugins.connection.namespace import check_node, command_line
from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._nodes.node import enter

ARGUMENTS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)))


@given(ARGUMENTS)
def test_the_command_stays_one_argument(cmd):
    assert shlex.split(command_line("n1", cmd)) == enter("n1", ["/bin/sh", "-c", cmd])


def test_an_odd_name_reaches_no_shell():
    with pytest.raises(InputError, match="not a usable name for a network namespace"):
        command_line("x'; id; echo '$(id)", "true")


@pytest.fixture(name="as_root")
def _as_root(monkeypatch):
    monkeypatch.setattr(namespace, "require", lambda needed, to_do: None)


@pytest.mark.parametrize("node", ["", ".", "..", "a/b", "../../tmp", "a\0b"])
def test_a_name_is_not_a_path(node, as_root):
    with pytest.raises(
        AnsibleConnectionFailure, match="is not there: create it with playbooks/nodes.yml"
    ):
        check_node(node, exists=lambda path: True)


def test_a_node_has_to_be_ready(as_root):
    nodes_asked = []
    with pytest.raises(
        AnsibleConnectionFailure, match="node 'lab-node1' of the single-host lab is not there"
    ):
        check_node("lab-node1", exists=nodes_asked.append)
    assert nodes_asked == ["/run/offload-lab/lab-node1/ready"]
    check_node("lab-node1", exists=lambda path: True)


def test_without_the_capability_it_says_what_to_do(monkeypatch):
    def require(needed, to_do):
        raise InputError("this task needs root", "not permitted", to_do)

    monkeypatch.setattr(namespace, "require", require)
    with pytest.raises(
        AnsibleConnectionFailure, match="this task needs root. Run Ansible with sudo, or as root."
    ):
        check_node("lab-node1", exists=lambda path: True)


@pytest.fixture(name="connection")
def _connection(monkeypatch):
    """Return a connection whose node is this process's own namespaces: what would run inside runs
    here.
    """
    monkeypatch.setattr(namespace, "check_node", lambda node: None)
    monkeypatch.setattr(namespace, "enter", lambda node, argv: ["env", "NODE=" + node] + argv)
    connection = namespace.Connection(PlayContext())
    monkeypatch.setattr(connection, "get_option", {"remote_addr": "lab-node1"}.get)
    return connection


def test_a_command_runs_in_the_node(connection):
    assert connection.exec_command("echo $NODE; cat; exit 3", in_data=b"data") == (
        3,
        b"lab-node1\ndata",
        b"",
    )
    assert connection.transport == "offload.lab.namespace"
    assert connection.connected


def test_files_are_copied_both_ways(connection, tmp_path):
    data = bytes(range(256)) * 5000
    (tmp_path / "here").write_bytes(data)
    connection.put_file(str(tmp_path / "here"), str(tmp_path / "o'dd $name"))
    assert (tmp_path / "o'dd $name").read_bytes() == data
    connection.fetch_file(str(tmp_path / "o'dd $name"), str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == data


def test_a_copy_that_fails_is_an_error(connection, tmp_path):
    with pytest.raises(AnsibleFileNotFound):
        connection.put_file(str(tmp_path / "nothing"), str(tmp_path / "there"))
    (tmp_path / "here").touch()
    with pytest.raises(AnsibleError, match="failed to copy in node lab-node1: .*No such file"):
        connection.put_file(str(tmp_path / "here"), str(tmp_path / "no" / "folder"))
    with pytest.raises(AnsibleError, match="failed to copy in node lab-node1: .*No such file"):
        connection.fetch_file(str(tmp_path / "nothing"), str(tmp_path / "back"))
