# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run ansible-test on a copy of this checkout: run_ansible_test.py ARGUMENT... (with a Python that
has ansible-core).

ansible-test needs the collection in a folder ``ansible_collections/offload/lab`` that is not a
symbolic link; it keeps its environments below ``$HOME``; and it downloads a script that installs
pip, which not every network allows. So it gets a copy, a home folder of its own in ``.build``, and
a script that runs pip from the Python index.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = (
    ROOT / ".build" / os.environ.get("PYTEST_XDIST_WORKER", "")
)  # tests at the same time have one each
COPY = BUILD / "copy/ansible_collections/offload/lab"
HOME = BUILD / "ansible-test"
PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
# ansible-test calls it with the arguments of get-pip.py; pip does not know the last two.
GET_PIP = """import runpy, sys
sys.path.insert(0, {wheel!r})
sys.argv = ["pip", "install"] + [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


def tracked_files(root):
    """Return the files of a checkout, relative to it: those git tracks and new ones it does not
    ignore.
    """
    out = subprocess.check_output(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        text=True,
    )
    return sorted(name for name in set(out.split("\0")) if name and (root / name).is_file())


def copy_files(root, target, names):
    """Make ``target`` hold just these files of ``root``; what did not change is not written again."""
    for folder, _folders, files in os.walk(target):
        for name in files:
            path = Path(folder, name)
            relative = path.relative_to(target)
            if (
                str(relative) not in names
                and relative.parts[0] != ".git"
                and relative.parts[:2] != ("tests", "output")
            ):
                path.unlink()
    for name in names:
        source = root / name
        copy = target / name
        if not copy.is_file() or copy.stat().st_mtime_ns != source.stat().st_mtime_ns:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)


def link(path, target):
    """Make ``path`` a symbolic link to ``target``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and os.readlink(path) == str(target):
        return
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def pip_version(package):
    """Return the version of pip that the ansible-test in this ``ansible_test`` folder wants."""
    text = (package / "_internal/python_requirements.py").read_text()
    return re.search(r"pip='([0-9.]+)'", text).group(1)


def write_get_pip(version, home):
    """Write the script that installs pip where ansible-test looks before it downloads."""
    script = home / f".ansible/test/cache/get_pip_{version.replace('.', '_')}.py"
    if script.exists():
        return
    cache = ROOT / ".cache"
    pins = (ROOT / "requirements/pip.txt").read_text().splitlines()
    pinned = [line for line in pins if line.startswith(f"pip=={version} ")]
    if not pinned:
        sys.exit(
            f"requirements/pip.txt has no line for pip {version}, which this ansible-test asks for."
        )
    script.parent.mkdir(parents=True, exist_ok=True)
    lock = script.with_suffix(".txt")
    lock.write_text(pinned[0])
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    argv += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--dest", str(cache)]
    subprocess.check_call([*argv, "--requirement", str(lock)])
    script.write_text(GET_PIP.format(wheel=str(cache / f"pip-{version}-py3-none-any.whl")))


def prepare():
    """Make the copy and the home folder; return the environment for ansible-test."""
    copy_files(ROOT, COPY, tracked_files(ROOT))
    # Without its own repository the copy is an ignored folder of the checkout's, and ansible-test
    # sees no file.
    subprocess.check_call(["git", "init", "--quiet", str(COPY)])
    corpus = Path(os.environ.get("OFFLOAD_LAB_CORPUS", ROOT.parent / "shared/corpus"))
    link(
        COPY.parent / "shared/corpus", corpus
    )  # the environment does not reach the tests, this place does
    for folder in (".config", ".cache"):  # pip's settings and its cache
        link(HOME / folder, Path.home() / folder)
    write_get_pip(pip_version(Path(sysconfig.get_paths()["purelib"], "ansible_test")), HOME)
    bin_folder = HOME / "bin"
    for version in PYTHONS:
        done = subprocess.run(
            ["sh", str(ROOT / "tools/find_python.sh"), version],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            link(bin_folder / f"python{version}", Path(done.stdout.strip()))
    path = [str(Path(sys.executable).parent), str(bin_folder), os.environ["PATH"]]
    return dict(os.environ, HOME=str(HOME), PATH=os.pathsep.join(path), ANSIBLE_CONFIG="/dev/null")


def main(arguments):
    environment = prepare()
    command = [str(Path(sys.executable).with_name("ansible-test")), *arguments]
    if arguments[:1] == ["integration"]:  # several may run simultaneously, and while a lab runs
        command = ["/bin/sh", str(ROOT / "tools/isolated.sh"), *command]
    os.chdir(COPY)
    os.execve(
        command[0], command, environment
    )  # nothing in between: ending this process ends ansible-test


if __name__ == "__main__":
    main(sys.argv[1:])
