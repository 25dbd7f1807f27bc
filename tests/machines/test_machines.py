# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual machines on this machine, without KVM if need be: make machines-test runs this, and
nothing else does.
"""

from __future__ import annotations

import json
import os
import re
import signal

import pytest

from ansible_collections.offload.lab.tests.machines.guests import (
    PATIENCE,
    Guests,
    left_behind,
    variables,
)
from ansible_collections.offload.lab.tests.support import run
from ansible_collections.offload.lab.tests.system.lab import changed

pytestmark = pytest.mark.guests


@pytest.fixture
def guests(root_required):
    new_guests = Guests("systest-guests")
    yield new_guests
    new_guests.play("machines_absent")


def test_they_come_up_and_go(guests):
    guests.play("machines")
    first = {
        node: guests.inside(node, "cat /proc/sys/kernel/random/boot_id")
        for node in ("node1", "node2")
    }
    assert set(changed(guests.play("machines")).values()) <= {0}
    assert " 0% packet loss" in guests.inside("node1", "ping -c 3 -M do -s 8972 198.18.0.2")
    guests.inside(
        "node1", "timeout 60 bash -c '</dev/tcp/10.0.2.2/22082'", rc=1
    )  # this machine, seen from inside

    guests.inside("node2", "echo kept >/root/kept && sync")
    os.kill(guests.pid("node2"), signal.SIGKILL)
    guests.play("machines")
    assert guests.inside("node1", "cat /proc/sys/kernel/random/boot_id") == first["node1"]
    assert guests.inside("node2", "cat /proc/sys/kernel/random/boot_id") != first["node2"]
    assert guests.inside("node2", "cat /root/kept") == "kept\n"

    os.kill(guests.pid("node1"), signal.SIGKILL)
    guests.play("machines_absent")
    assert left_behind(guests.name) == []
    assert set(changed(guests.play("machines_absent")).values()) <= {0}


def test_demo(root_required, tmp_path):
    output = run(
        ["make", "machines-demo", f"RESULTS={tmp_path}", "NAME=systest-guestdemo"],
        timeout=PATIENCE,
        **variables("systest-guestdemo"),
    )
    assert left_behind("systest-guestdemo") == []
    folder = tmp_path / "machines"
    assert output.rstrip().splitlines()[-1] == f"Report: {folder}/report.html"
    manifest = (folder / "manifest.json").read_text()
    assert '"system"' in manifest and re.search(r'"driver": "virtio_net"', manifest)
    rows = [
        row
        for table in json.loads((folder / "analysis.json").read_text())["tables"]
        for metric in table["metrics"]
        for row in metric["rows"]
    ]
    assert {row["state"] for row in rows} & {"better", "worse"}, output[-3000:]
