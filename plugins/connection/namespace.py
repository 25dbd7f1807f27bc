# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection to a node of the single-host lab: local, but inside the node's namespaces."""

from __future__ import annotations

DOCUMENTATION = r"""
name: namespace
short_description: Run tasks in a node of the single-host lab
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Runs tasks on the machine of the controller, as P(ansible.builtin.local#connection) does, but in the network, mount
    and uts namespaces of a node that M(offload.lab.nodes) has made.
  - Files are copied to and from the node's own view of the file system, with its private directories.
  - Commands begin in the directory C(/).
notes:
  - It works for root only.
options:
  remote_addr:
    description: Name of the node.
    type: str
    default: inventory_hostname
    vars:
      - name: inventory_hostname
      - name: ansible_host
  become_success_timeout:
    description: Seconds to wait for privilege escalation to succeed. Used with ansible-core 2.19 and later.
    type: int
    default: 10
    vars:
      - name: ansible_local_become_success_timeout
  become_strip_preamble:
    description: Whether the output of privilege escalation itself is removed. Used with ansible-core 2.19 and later.
    type: bool
    default: true
    vars:
      - name: ansible_local_become_strip_preamble
extends_documentation_fragment:
  - ansible.builtin.connection_pipelining
"""

import os
import shlex
import subprocess
from collections.abc import Callable
from typing import IO

from ansible.errors import AnsibleConnectionFailure, AnsibleError, AnsibleFileNotFound
from ansible.plugins.connection.local import Connection as LocalConnection
from ansible.utils.display import Display

from ..module_utils._base.errors import InputError
from ..module_utils._host.privileges import require
from ..module_utils._nodes.node import enter, home

display = Display()
COPY = ["dd", "bs=1M", "status=none"]


def check_node(node: str, exists: Callable[[str], bool] = os.path.exists) -> None:
    """Raise a connection failure that says what to do if the node cannot be entered."""
    try:
        require(["CAP_SYS_ADMIN"], to_do="Run Ansible with sudo, or as root.")
    except InputError as error:
        raise AnsibleConnectionFailure(str(error)) from error
    # A name with a slash would be a path to somewhere else.
    if node in ("", ".", "..") or "/" in node or "\0" in node or not exists(home(node) + "/ready"):
        raise AnsibleConnectionFailure(
            f"node {node!r} of the single-host lab is not there: create it with playbooks/nodes.yml"
        )


def command_line(node: str, cmd: str) -> str:
    """Return the shell command that runs the shell command ``cmd`` as a whole inside the node."""
    return " ".join(shlex.quote(word) for word in enter(node, ["/bin/sh", "-c", cmd]))


class Connection(LocalConnection):
    """The local connection; each command enters the node first."""

    transport = "offload.lab.namespace"

    def _connect(self) -> Connection:
        self._node: str = self.get_option("remote_addr")
        check_node(self._node)
        return super()._connect()

    def exec_command(
        self, cmd: str, in_data: bytes | None = None, sudoable: bool = True
    ) -> tuple[int, bytes, bytes]:
        self._connect()
        return super().exec_command(
            command_line(self._node, cmd), in_data=in_data, sudoable=sudoable
        )

    def put_file(self, in_path: str, out_path: str) -> None:
        self._connect()
        display.vvv(f"PUT {in_path} TO {out_path}", host=self._node)
        try:
            with open(in_path, "rb") as source:
                self._copy(["of=" + out_path], stdin=source)
        except FileNotFoundError:
            raise AnsibleFileNotFound(f"file or module does not exist: {in_path}")

    def fetch_file(self, in_path: str, out_path: str) -> None:
        self._connect()
        display.vvv(f"FETCH {in_path} TO {out_path}", host=self._node)
        with open(out_path, "wb") as target:
            self._copy(["if=" + in_path], stdout=target)

    def _copy(
        self, operands: list[str], stdin: IO[bytes] | None = None, stdout: IO[bytes] | None = None
    ) -> None:
        """Copy between an open file of the controller and a path in the node."""
        argv = enter(self._node, COPY + operands)
        done = subprocess.run(argv, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise AnsibleError(
                f"failed to copy in node {self._node}: {done.stderr.decode(errors='replace').strip()}"
            )
