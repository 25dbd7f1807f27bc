# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a lab, reached as hosts are: by SSH as another user, who has sudo."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT, run

USER = "ollab"
HOME = "/run/ollab"
# What the user adds to files of the node's /etc. Each node has its own mounts.
ETC = {
    "passwd": f"{USER}:x:7777:7777::{HOME}:/bin/sh\n",
    "group": f"{USER}:x:7777:\n",
    "shadow": f"{USER}:*:19000:0:99999:7:::\n",
    "sudoers": f"{USER} ALL=(ALL) NOPASSWD: ALL\n",
}
SSHD = """\
Port 22
HostKey {folder}/host
AuthorizedKeysFile {home}/authorized
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
"""
CLOSED_S = 20.0  # in which sshd has ended the sessions of connections that were closed
LISTS_WITHOUT = 10  # a session, 0.1 s apart


def address(me, ours=False):
    """Return the address of a node in the network of the controller, or the controller's there."""
    return f"192.0.2.{4 * me + (1 if ours else 2)}"


def hosts(ends, key):
    """Return an inventory of two hosts, as users write it."""
    options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ControlPath=/run/%C"
    nodes = {
        f"hx{me}": {
            "ansible_host": address(me),
            "offload_lab_underlay_device": "underlay0",
            "offload_lab_ends": ends(me),
        }
        for me in (1, 2)
    }
    variables = {
        "ansible_user": USER,
        "ansible_become": True,
        "ansible_ssh_private_key_file": str(key),
        "ansible_ssh_common_args": options,
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    return {"lab_nodes": {"hosts": nodes, "vars": variables}}


def _reachable(lab, me, folder):
    """Give a node a device to the controller, the user, and sshd."""
    run(["ip", "link", "add", f"mgmt{me}", "type", "veth", "peer", "name", "mgmt0"])
    run(["ip", "link", "set", "mgmt0", "netns", f"{lab.name}-node{me}"])
    run(["ip", "addr", "add", f"{address(me, ours=True)}/30", "dev", f"mgmt{me}"])
    run(["ip", "link", "set", f"mgmt{me}", "up"])
    lab.inside(me, "ip", "addr", "add", f"{address(me)}/30", "dev", "mgmt0")
    lab.inside(me, "ip", "link", "set", "mgmt0", "up")
    lab.inside(me, "ip", "link", "set", "lo", "up")
    for name in ETC:
        lab.inside(me, "mount", "--bind", str(folder / "etc" / name), f"/etc/{name}")
    lab.inside(me, "mkdir", "-p", "/run/sshd", HOME)
    lab.inside(me, "chown", USER, HOME)
    lab.inside(me, "cp", str(folder / "key.pub"), f"{HOME}/authorized")
    lab.inside(me, "/usr/sbin/sshd", "-f", str(folder / "sshd_config"))


def _sessions(lab):
    """Return the processes of sshd in all nodes."""
    return [
        pid for me in (1, 2) for pid, name in lab.members(me).items() if name.startswith("sshd")
    ]


@contextlib.contextmanager
def over_ssh(lab, ends, folder):
    """Give the path of an inventory that reaches the lab's nodes by SSH; end sshd afterwards.

    ``ends`` returns offload_lab_ends of node 1 or 2.
    """
    folder.mkdir()
    (folder / "etc").mkdir()
    for name, line in ETC.items():
        there = folder / "etc" / name
        there.write_text(Path("/etc", name).read_text() + line)
        shutil.copymode(f"/etc/{name}", there)
    for key in ("host", "key"):
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key])
    (folder / "sshd_config").write_text(SSHD.format(folder=folder, home=HOME))
    inventory = folder / "hosts.yml"
    inventory.write_text(json.dumps(hosts(ends, folder / "key")))
    try:
        for me in (1, 2):
            _reachable(lab, me, folder)
        yield inventory
    finally:
        for pid in _sessions(lab):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for me in (1, 2):
            run(["ip", "link", "del", f"mgmt{me}"], rc=None)


def close(lab):
    """End the connections that Ansible keeps, and wait until nothing of them runs on a node for a second.

    One list is not enough: it can lack processes that the next one has.
    """
    until = time.monotonic() + CLOSED_S
    lists_without = 0
    while lists_without < LISTS_WITHOUT and time.monotonic() < until:
        lists_without += 1
        if len(_sessions(lab)) > 2:
            lists_without = 0
            for socket in Path("/run").glob("[0-9a-f]" * 40):
                _end(socket)
        time.sleep(0.1)


def _end(socket):
    """Ask the process that keeps a connection to end; print its answer, for a connection that stays."""
    argv = ["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "nodes"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    print(socket.name, done.returncode, done.stderr.strip())


def play(playbook, inventory, results, **variables):
    """Run a playbook as a user would; return its output and the seconds that it took."""
    arguments = {"offload_lab_results_dir": str(results), **variables}
    began = time.monotonic()
    output = run(
        [
            BIN / "ansible-playbook",
            *("-i", inventory, CHECKOUT / f"playbooks/{playbook}.yml"),
            *("-e", json.dumps(arguments)),
        ],
        timeout=3600,
    )
    return output, time.monotonic() - began
