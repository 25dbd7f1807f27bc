# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A source of netperf is unpacked and built as nobody, and only where its checksum is known.

The tasks come from role netperf, without the packages; they install into a folder of the test.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT

pytestmark = pytest.mark.usefixtures("root_required")
WITNESS = "id -u >>{seen}; grep CapEff /proc/self/status >>{seen}\n"
MAKEFILE = "netperf netserver:\n\tid -u >>{seen}\n\techo program >$@\n"


@pytest.fixture(name="folder")
def _folder():
    """A folder that nobody reaches, with a file that nobody may write: what the scripts see."""
    with tempfile.TemporaryDirectory(prefix="offload-lab-source-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "seen").touch()
        (folder / "seen").chmod(0o666)
        (folder / "bin").mkdir()
        yield folder


def archive(folder, **more):
    """Make a source whose scripts write down who runs them; return its path and checksum."""
    files = {
        "autogen.sh": WITNESS + "printf '#!/bin/sh\\n" + "id -u >>{seen}\\n' >configure\n",
        "src/Makefile": MAKEFILE,
        **more,
    }
    path = folder / "netperf.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            data = text.format(seen=folder / "seen").encode()
            entry = tarfile.TarInfo(f"netperf/{name}")
            entry.size, entry.mode = len(data), 0o755
            packed.addfile(entry, io.BytesIO(data))
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def build(folder, path, checksum):
    """Run the tasks on this machine; return (exit status, what was printed)."""
    text = (CHECKOUT / "roles/netperf/tasks/source.yml").read_text()
    tasks = yaml.safe_load(text.replace("/usr/local/bin", str(folder / "bin")))
    tasks = [task for task in tasks if "ansible.builtin.package" not in task]
    environment = {
        "ansible_python_interpreter": "/usr/bin/python3",
        "offload_lab_netperf_source": str(path),
    }
    environment["offload_lab_netperf_source_sha256"] = checksum
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False}
    play.update(vars=environment, tasks=tasks)
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    argv = [BIN / "ansible-playbook", "-i", "localhost,", "play.yml"]
    done = subprocess.run(argv, cwd=folder, text=True, capture_output=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_nothing_of_it_runs_as_root(folder):
    status, printed = build(folder, *archive(folder))
    assert status == 0, printed
    seen_lines = (folder / "seen").read_text().split()
    assert seen_lines.count("65534") == 4 and "0" not in seen_lines
    assert "0000000000000000" in seen_lines  # no capabilities
    for name in ("netperf", "netserver"):
        program = folder / "bin" / name
        assert program.read_text() == "program\n" and program.stat().st_uid == 0
    assert [name for name in os.listdir("/tmp") if name.startswith("offload-lab-netperf-")] == []


@pytest.mark.parametrize("checksum", ["", "0" * 64, "0" * 63, "x"])
def test_another_source_is_not_unpacked(folder, checksum):
    path, _right = archive(folder)
    status, printed = build(folder, path, checksum)
    assert status != 0 and "offload_lab_netperf_source_sha256" in printed
    assert (folder / "seen").read_text() == ""
    assert os.listdir(folder / "bin") == []


def test_a_link_to_a_file_of_root_is_not_installed(folder):
    makefile = "netperf netserver:\n\tln -s /etc/shadow $@\n"
    path, checksum = archive(folder, **{"src/Makefile": makefile})
    status, printed = build(folder, path, checksum)
    assert status != 0 and "did not make the programs" in printed
    assert os.listdir(folder / "bin") == []
