# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The set-up scripts in tools/: what they would install, and what they say when they cannot."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture(name="requirements")
def _requirements():
    return load("requirements")


@pytest.fixture(name="collections")
def _collections():
    return load("collections_setup")


def test_only_changed_lock_files_are_installed(requirements, tmp_path):
    lock = tmp_path / "a.txt"
    stamp = tmp_path / "stamp.json"
    lock.write_text("a==1\n")
    assert requirements.outdated([lock], stamp) == [str(lock)]
    requirements.record([lock], stamp)
    assert requirements.outdated([lock], stamp) == []
    lock.write_text("a==2\n")
    assert requirements.outdated([lock], stamp) == [str(lock)]


def test_a_damaged_stamp_means_install_again(requirements, tmp_path):
    lock = tmp_path / "a.txt"
    stamp = tmp_path / "stamp.json"
    lock.write_text("a==1\n")
    stamp.write_text("{")
    assert requirements.outdated([lock], stamp) == [str(lock)]
    requirements.record([lock], stamp)
    assert requirements.outdated([lock], stamp) == []


def test_the_lock_gives_every_python_one_ansible_core():
    lines = [
        line.split("#")[0].strip(" \\")
        for line in (ROOT / "requirements/controller.txt").read_text().splitlines()
    ]
    assert [line for line in lines if line.startswith("ansible-core")] == [
        "ansible-core==2.19.14 ; python_full_version < '3.12'",
        "ansible-core==2.21.5 ; python_full_version >= '3.12'",
    ]
    assert all("==" in line or line.startswith("--hash=sha256:") for line in lines if line)


def wheel(path, name, version):
    folder = "ansible_collections/" + name.replace(".", "/")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            folder + "/MANIFEST.json", json.dumps({"collection_info": {"version": version}})
        )
        archive.writestr(folder + "_other/MANIFEST.json", "{}")


def locked(collections, tmp_path, monkeypatch):
    """Make a wheel and its lock file the only ones that are known; return the wheel."""
    path = tmp_path / "ansible-1.2-py3-none-any.whl"
    wheel(path, "a.b", "1.2.3")
    lock = tmp_path / "wheel.txt"
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    lock.write_text(f"ansible==1.2 \\\n    --hash=sha256:{checksum}\n")
    monkeypatch.setattr(collections, "CACHE", tmp_path)
    monkeypatch.setattr(collections, "DEFAULT_WHEEL", lock)
    return path


def test_collections_come_out_of_the_wheel_and_nothing_else(collections, tmp_path, monkeypatch):
    locked(collections, tmp_path, monkeypatch)
    site = tmp_path / "site"
    assert collections.missing(site, {"a.b": "1.2.3"}) == {"a.b": "1.2.3"}
    collections.install_from_wheels(site, {"a.b": "1.2.3"})
    assert collections.missing(site, {"a.b": "1.2.3"}) == {}
    assert collections.missing(site, {"a.b": "1.2.4"}) == {"a.b": "1.2.4"}
    assert not (site / "ansible_collections/a/b_other").exists()


def test_a_wheel_that_is_another_file_is_refused(collections, tmp_path, monkeypatch):
    path = locked(collections, tmp_path, monkeypatch)
    wheel(path, "a.b", "1.2.4")
    with pytest.raises(SystemExit, match="is not the file that .*wheel.txt names"):
        collections.install_from_wheels(tmp_path / "site", {"a.b": "1.2.4"})
    assert not (tmp_path / "site").exists()


def test_pip_is_asked_for_checksums(requirements, tmp_path, monkeypatch):
    arguments = []
    monkeypatch.setattr(requirements.sys, "prefix", str(tmp_path))
    monkeypatch.setattr(requirements.subprocess, "call", lambda argv: arguments.append(argv) or 1)
    (tmp_path / "a.txt").write_text("a==1\n")
    assert requirements.main([str(tmp_path / "a.txt")]) == 1
    assert "--require-hashes" in arguments[0] and "--only-binary=:all:" in arguments[0]


def test_a_version_that_no_wheel_has_is_an_error(collections, tmp_path, monkeypatch, capsys):
    locked(collections, tmp_path, monkeypatch)
    monkeypatch.setattr(collections, "galaxy_reachable", lambda: False)
    monkeypatch.setattr(
        collections.sysconfig, "get_paths", lambda: {"purelib": str(tmp_path / "site")}
    )
    manifest = tmp_path / "requirements.yml"
    manifest.write_text("collections:\n  - {name: a.b, version: 9.9.9}\n")
    assert collections.main(manifest) == 1
    assert "a.b 9.9.9 is wanted" in capsys.readouterr().err


def find_python(path, *versions):
    environment = {"PATH": f"{path}:/usr/bin:/bin", "PYENV_ROOT": str(path), "HOME": str(path)}
    return subprocess.run(
        ["sh", str(ROOT / "tools/find_python.sh"), *versions],
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )


def test_a_python_that_does_not_run_is_passed_over(tmp_path):
    executable(tmp_path / "python9.9", "#!/bin/sh\nexit 127\n")
    folder = tmp_path / "versions/9.9.1/bin"
    folder.mkdir(parents=True)
    executable(folder / "python", "#!/bin/sh\necho /the/real/python9.9\n")
    assert find_python(tmp_path, "9.9").stdout == "/the/real/python9.9\n"


def test_no_python_is_one_message(tmp_path):
    result = find_python(tmp_path, "9.9")
    assert result.returncode == 1
    assert result.stderr.startswith("No usable Python found; looked for: 9.9")
    assert result.stderr.count("\n") == 1


def as_root(tmp_path, uid, with_sudo):
    for tool in ("sh", "env"):
        os.symlink("/bin/" + tool, tmp_path / tool)
    executable(tmp_path / "id", f"#!/bin/sh\necho {uid}\n")
    if with_sudo:
        executable(tmp_path / "sudo", '#!/bin/sh\necho sudo "$@"\n')
    return subprocess.run(
        ["sh", str(ROOT / "tools/as_root.sh"), "/bin/echo", "done"],
        env={"PATH": str(tmp_path)},
        text=True,
        capture_output=True,
        check=False,
    )


def test_root_runs_commands_itself(tmp_path):
    assert as_root(tmp_path, 0, with_sudo=True).stdout == "done\n"


def test_others_go_through_sudo(tmp_path):
    argv = as_root(tmp_path, 1000, with_sudo=True).stdout.split()
    assert argv[0] == "sudo"
    assert argv[-2:] == ["/bin/echo", "done"]


def test_without_sudo_there_is_one_message(tmp_path):
    result = as_root(tmp_path, 1000, with_sudo=False)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "needs root" in result.stderr


def test_every_target_of_the_makefile_explains_itself():
    text = (ROOT / "Makefile").read_text()
    helped = subprocess.run(
        ["make", "-s", "-C", str(ROOT), "help"], text=True, capture_output=True, check=True
    ).stdout
    phony = next(line for line in text.splitlines() if line.startswith(".PHONY:")).split()[1:]
    assert [name for name in phony if f"\n  {name} " not in helped] == []


def test_missing_packages_are_said_and_installed_with_sudo(tmp_path):
    """On a machine that has a shell and apt-get only; apt itself is not called: sudo prints what it
    is given.
    """
    for tool in ("sh", "dirname"):
        os.symlink(shutil.which(tool), tmp_path / tool)
    executable(tmp_path / "id", "#!/bin/sh\necho 1000\n")
    executable(tmp_path / "sudo", '#!/bin/sh\necho sudo "$@"\n')
    executable(tmp_path / "apt-get", "#!/bin/sh\nexit 1\n")
    done = subprocess.run(
        ["sh", str(ROOT / "tools/packages.sh"), "test"],
        text=True,
        capture_output=True,
        check=True,
        env={"PATH": str(tmp_path), "HOME": str(tmp_path), "PYENV_ROOT": str(tmp_path)},
    )
    *lines, last = done.stdout.splitlines()
    assert "setup: podman is missing: Molecule's containers" in lines
    assert last.startswith("sudo ") and {"podman", "mmdebstrap", "git"} <= set(last.split())
    assert any(word.startswith("python3.8-venv|") for word in last.split())


def test_without_rights_set_up_says_so_and_goes_on(tmp_path):
    for tool in ("sh", "dirname"):
        os.symlink(shutil.which(tool), tmp_path / tool)
    executable(tmp_path / "id", "#!/bin/sh\necho 1000\n")
    executable(tmp_path / "apt-get", "#!/bin/sh\nexit 1\n")
    done = subprocess.run(
        ["sh", str(ROOT / "tools/packages.sh"), "setup"],
        text=True,
        capture_output=True,
        check=False,
        env={"PATH": str(tmp_path), "HOME": str(tmp_path), "PYENV_ROOT": str(tmp_path)},
    )
    assert done.returncode == 0 and "needs root, or sudo" in done.stderr
