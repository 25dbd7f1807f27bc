# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of virtual machines of a test: its playbooks, commands inside its machines, and what it
might leave.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from ansible_collections.offload.lab.tests.support import CHECKOUT, environment, run

INVENTORY = CHECKOUT / "inventories/virtual_machines"
PATIENCE = 7200  # seconds: emulated guests on a busy machine


def variables(name, inventory=INVENTORY):
    """Return the environment of the commands of a lab of this name."""
    return {"OFFLOAD_LAB_NAME": name, "ANSIBLE_INVENTORY": str(inventory)}


def folder_of(name):
    """Return the folder of a lab's keys, disks and consoles."""
    return Path(f"/var/lib/offload-lab-{name}")


class Guests:
    """Two virtual machines and the lab in them."""

    inventory = INVENTORY
    first_port = 22080

    def __init__(self, name, **options):
        self.name = name
        self.folder = folder_of(name)
        self.options = options
        self.variables = variables(name, self.inventory)

    def argv(self, playbook, **options):
        variables = {
            f"offload_lab_{key}": value for key, value in {**self.options, **options}.items()
        }
        return ["ansible-playbook", f"playbooks/{playbook}.yml", "-e", json.dumps(variables)]

    def play(self, playbook, rc=0, **options):
        return run(self.argv(playbook, **options), rc=rc, timeout=PATIENCE, **self.variables)

    def ask(self, module, node, **arguments):
        """Run one module in a machine and return its result."""
        output = run(
            ["ansible", node, "-o", "-m", module, "-a", json.dumps(arguments)],
            timeout=PATIENCE,
            **self.variables,
            ANSIBLE_CALLBACK_RESULT_FORMAT="json",
        )
        return json.loads(output[output.index("=> ") + 3 :])

    def begin(self, playbook, log, **options):
        """Start a playbook in a process group of its own, and return its process."""
        with open(log, "w") as stream:
            return subprocess.Popen(
                self.argv(playbook, **options),
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                env=environment(**self.variables),
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def inside(self, node, command, rc=0):
        """Run a shell command in a machine, and return its output."""
        options = {
            "UserKnownHostsFile": self.folder / "known_hosts",
            "StrictHostKeyChecking": "yes",
            "LogLevel": "ERROR",
        }
        return run(
            [
                "ssh",
                "-i",
                self.folder / "key",
                "-p",
                self.first_port + int(node[-1]),
                *(f"-o{key}={value}" for key, value in options.items()),
                "root@127.0.0.1",
                command,
            ],
            rc=rc,
            timeout=PATIENCE,
        )

    def pid(self, node):
        """Return the process of a machine's QEMU."""
        return json.loads((self.folder / node / "state.json").read_text())["pid"]

    def lives(self, node):
        return os.path.exists(f"/proc/{self.pid(node)}/exe")


class Tenants(Guests):
    """Two nodes that are namespaces, and the virtual machine on the switch of each."""

    inventory = CHECKOUT / "inventories/guest_tenants"
    first_port = 22180

    def __init__(self, name, **options):
        super().__init__(name, **options)
        self.folder = folder_of(f"{name}-guests")

    def at_node(self, node, command):
        """Run a command in a node, and return its output."""
        return run(
            ["ansible", node, "-m", "ansible.builtin.command", "-a", command],
            timeout=PATIENCE,
            **self.variables,
        )


def left_behind(name):
    """Return what a lab of this name has on this machine: its folder, its namespace, its processes."""
    names_found = [
        str(path) for path in (folder_of(name), Path(f"/run/netns/{name}-fabric")) if path.exists()
    ]
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = entry.read_text(errors="replace").split("\0")
        except OSError:
            continue
        if "qemu" in arguments[0] and any(word.startswith(f"{name}-") for word in arguments):
            names_found.append(f"{arguments[0]} {entry.parent.name}")
    return names_found
