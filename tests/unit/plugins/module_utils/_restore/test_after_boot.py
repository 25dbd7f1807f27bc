# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next boot removes, with the files of systemd in a folder of the test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._base.network import OWNER
from ansible_collections.offload.lab.plugins.module_utils._host import script
from ansible_collections.offload.lab.plugins.module_utils._ovs import ovs_state
from ansible_collections.offload.lab.plugins.module_utils._restore import after_boot

BRIDGE = {"name": "br-int", "datapath_type": "system", "external_ids": {OWNER: "switch"}}
EVIL = "a'b\"%\\"  # a bridge's name is text of a program


@pytest.fixture(name="host")
def _host(tmp_path, monkeypatch):
    """A host that systemd boots; returns the list of the commands that were run."""
    monkeypatch.setattr(after_boot.script, "by_systemd", lambda: True)
    for name in ("PROGRAM", "UNIT", "LINK"):
        monkeypatch.setattr(after_boot, name, str(tmp_path) + getattr(after_boot, name))
    monkeypatch.setattr(
        after_boot.snapshot, "PATH", str(tmp_path / "var/lib/offload-lab/snapshot.json")
    )
    os.makedirs(os.path.dirname(after_boot.UNIT))
    commands = []
    monkeypatch.setattr(
        after_boot, "apply", lambda steps: commands.extend(" ".join(step.argv) for step in steps)
    )
    return commands


def files(folder):
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if not path.is_dir() or path.is_symlink()
    )


def test_it_is_planned_and_forgotten(host, tmp_path):
    main = after_boot.main_for("br-int", "auto")
    assert after_boot.planned() is None
    after_boot.plan(main)
    after_boot.plan(main)
    assert after_boot.planned() == main
    assert os.path.samefile(after_boot.LINK, after_boot.UNIT)
    assert (
        f"ExecStart={sys.executable} -IS {after_boot.PROGRAM}\n"
        in Path(after_boot.UNIT).read_text()
    )
    assert os.stat(after_boot.PROGRAM).st_mode & 0o777 == 0o600
    after_boot.forget()
    assert after_boot.planned() is None and files(tmp_path) == [] and host == []


def test_a_unit_that_somebody_disabled_is_planned_again(host):
    after_boot.plan(after_boot.main_for("br-int", "auto"))
    os.unlink(after_boot.LINK)
    assert after_boot.planned() is None


def test_a_damaged_program_is_none(host, tmp_path):
    after_boot.plan(after_boot.main_for("br-int", "auto"))
    Path(after_boot.PROGRAM).write_bytes(b"PK")
    assert after_boot.planned() is None


def test_a_node_that_systemd_does_not_boot_plans_nothing(host, monkeypatch):
    monkeypatch.setattr(after_boot.script, "by_systemd", lambda: False)
    assert after_boot.main_for("br-int", "auto") is None


def test_the_boot_removes_the_bridge_the_snapshot_and_itself(host, tmp_path, monkeypatch):
    after_boot.plan(after_boot.main_for("br-int", "auto"))
    Path(after_boot.snapshot.PATH).write_text("{}")
    monkeypatch.setattr(
        after_boot.database,
        "switch_seen",
        lambda: {
            "db": True,
            "vswitchd": True,
            "ovs": {**ovs_state.empty(), "bridges": {"br-int": BRIDGE}},
        },
    )
    after_boot.end("br-int", "ovs-ctl")
    assert host == ["ovs-vsctl --timeout=60 del-br br-int"]
    assert files(tmp_path) == []


def test_all_stays_where_others_use_the_bridge(host, tmp_path, monkeypatch):
    after_boot.plan(after_boot.main_for("br-int", "auto"))
    Path(after_boot.snapshot.PATH).write_text("{}")
    before = files(tmp_path)
    monkeypatch.setattr(
        after_boot.database,
        "switch_seen",
        lambda: {
            "db": True,
            "vswitchd": True,
            "ovs": {
                **ovs_state.empty(),
                "bridges": {"br-int": BRIDGE},
                "ports": {"tap7": {"bridge": "br-int", "external_ids": {}}},
            },
        },
    )
    with pytest.raises(InputError, match="tap7"):
        after_boot.end("br-int", "ovs-ctl")
    assert files(tmp_path) == before and host == []


def test_the_program_runs_without_the_collection(tmp_path):
    """Only its arguments reach the function, whatever is in them."""
    path = tmp_path / "after_boot.zip"
    main = after_boot.MAIN.format(script.PACKAGE, EVIL, "auto")
    main = main.replace(
        "after_boot.end(", "after_boot.end = lambda *given: print(given)\nafter_boot.end("
    )
    script.write_program(str(path), main)
    output = subprocess.run(
        script.argv_of_zip(path), cwd="/", check=True, capture_output=True, text=True
    ).stdout
    assert output == f"{(EVIL, 'auto')}\n"
