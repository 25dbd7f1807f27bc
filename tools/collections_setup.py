# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Install the collections of a requirements.yml into the virtual environment that runs this file.

The ordinary way is ``ansible-galaxy``. Where Galaxy is not reachable, the ``ansible`` packages of
the Python index carry the same collections, unpacked: their files are copied out of the wheel.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from pathlib import Path

import yaml

# The lock file of the newest ``ansible`` package that carries each collection; all others are in
# the wheel DEFAULT_WHEEL. It has the version and the SHA-256 of the wheel.
DEFAULT_WHEEL = Path("requirements/wheel.txt")
WHEELS = {"awx.awx": Path("requirements/awx-wheel.txt")}
CACHE = Path(".cache")
PROBE_SECONDS = 3


def read_manifest(path):
    """Return ``{collection: version}`` of a requirements.yml."""
    entries = yaml.safe_load(Path(path).read_text())["collections"]
    return {entry["name"]: str(entry["version"]) for entry in entries}


def folder(site, name):
    """Return where a collection lies below ``site``."""
    return Path(site, "ansible_collections", *name.split("."))


def installed_version(site, name):
    """Return the version of an installed collection, or None."""
    try:
        return json.loads((folder(site, name) / "MANIFEST.json").read_text())["collection_info"][
            "version"
        ]
    except (OSError, ValueError, KeyError):
        return None


def missing(site, requirements):
    """Return the part of ``{collection: version}`` that is not installed in just that version."""
    return {
        name: version
        for name, version in requirements.items()
        if installed_version(site, name) != version
    }


def galaxy_reachable():
    """Return whether the Galaxy server of ansible-core's configuration answers within a few
    seconds.
    """
    from ansible import constants  # noqa: PLC0415 (slow, and needed on a cold run only)

    server = constants.config.get_config_value("GALAXY_SERVER")
    try:
        with urllib.request.urlopen(server.rstrip("/") + "/api/", timeout=PROBE_SECONDS) as answer:
            return answer.status == 200
    except (OSError, ValueError):
        return False


def install_from_galaxy(site, requirements):
    """Install exactly these versions with ansible-galaxy; dependencies are in the manifest too."""
    argv = [
        str(Path(sys.executable).with_name("ansible-galaxy")),
        "collection",
        "install",
        "--force",
        "--no-deps",
        "--collections-path",
        str(site),
    ]
    subprocess.check_call(argv + [f"{name}:=={version}" for name, version in requirements.items()])


def download_wheel(lock):
    """Return the cached wheel of a lock file, whose SHA-256 is one of the lock file's; pip fetches it
    when it is not there.
    """
    CACHE.mkdir(exist_ok=True)
    text = lock.read_text()
    version = re.search(r"^ansible==([\w.]+)", text, re.MULTILINE).group(1)
    pattern = f"ansible-{version}-*.whl"
    if not sorted(CACHE.glob(pattern)):
        argv = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        argv += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
        subprocess.check_call([*argv, "--dest", str(CACHE), "--requirement", str(lock)])
    wheel = sorted(CACHE.glob(pattern))[0]
    if hashlib.sha256(wheel.read_bytes()).hexdigest() not in text:
        sys.exit(
            f"setup: {wheel} is not the file that {lock} names. Remove it, and run this again."
        )
    return wheel


def unpack(wheel, site, names):
    """Copy the collections out of a wheel."""
    folders = tuple(f"ansible_collections/{name.replace('.', '/')}/" for name in names)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(
            site, [member for member in archive.namelist() if member.startswith(folders)]
        )


def install_from_wheels(site, requirements):
    """Install the collections from the wheels that are known to carry them."""
    for lock in sorted({WHEELS.get(name, DEFAULT_WHEEL) for name in requirements}):
        names = [name for name in requirements if WHEELS.get(name, DEFAULT_WHEEL) == lock]
        unpack(download_wheel(lock), site, names)


def main(manifest):
    site = Path(sysconfig.get_paths()["purelib"])
    requirements = read_manifest(manifest)
    needed = missing(site, requirements)
    if not needed:
        return 0
    by_galaxy = galaxy_reachable()
    print(
        "setup: collections from",
        "Galaxy:" if by_galaxy else "the ansible wheels (Galaxy does not answer):",
        ", ".join(needed),
        flush=True,
    )
    (install_from_galaxy if by_galaxy else install_from_wheels)(site, needed)
    failed = missing(site, needed)
    for name, version in failed.items():
        print(
            f"setup: {name} {version} is wanted by {manifest}, but {installed_version(site, name) or 'nothing'} was "
            f"installed. Correct the version there, or the wheel in requirements/.",
            file=sys.stderr,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
