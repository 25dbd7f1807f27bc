# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start what root starts on a node, where user nobody has planted a module of every name.

It runs in namespaces of its own, see test_planted_modules.py: ``planted.py PART``. A planted module
that is imported leaves a file in CANARIES, whose names are printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._host import daemons, processes
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import wait_until
from ansible_collections.offload.lab.plugins.module_utils._load import run, servers
from ansible_collections.offload.lab.plugins.module_utils._observe import probe, probe_process
from ansible_collections.offload.lab.plugins.module_utils._restore import dead_man, snapshot

CANARIES = Path("/var/tmp/canaries")
FOLDERS = ("/tmp", "/var/tmp", "/tmp/here")  # the last is the working directory
NAMES = sorted({*sys.stdlib_module_names, "sitecustomize", "usercustomize"})
CANARY = f"""import sys
with open({str(CANARIES)!r} + "/" + __name__, "a") as stream:
    stream.write(" ".join(sys.argv))
"""
ADDRESS = "127.0.0.1"
PORT = 12865
END = {"netns": None, "local": None, "address": ADDRESS, "port": PORT, "data_port": PORT + 5}
LATE = ("colorsys", "sndhdr", "nntplib", "wave", "mailbox", "plistlib")


def as_nobody(*argv, **options):
    """Run a command as the unprivileged user."""
    ids = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
    subprocess.run(["setpriv", *ids, *argv], check=True, **options)


def plant():
    """Plant a module of every name, as user nobody."""
    CANARIES.mkdir(mode=0o777)
    CANARIES.chmod(0o777)
    Path("/tmp/here").mkdir()
    os.chown("/tmp/here", 65534, 65534)
    for folder in FOLDERS:
        files = [f"{folder}/{name}.py" for name in NAMES]
        as_nobody("tee", *files, input=CANARY, text=True, stdout=subprocess.DEVNULL)
    os.chdir("/tmp/here")


def measured(test, engine):
    """Return the error of a cell of one engine, with a server that is started for it."""
    load = workload.checked({"test": test, "engine": engine, "duration": 1})
    port = PORT + servers.engine_named(engine).port_offset
    server = {"netns": None, "address": ADDRESS, "port": port, "engine": engine}
    access = servers.Access(servers.token_of([]), [ADDRESS])
    servers.start_all([server], access)
    try:
        return run.run_cell(load, [END], token=access.token)["error"]
    finally:
        servers.stop_all(list(servers.known()))


def engines():
    """Have servers and clients of the engines in Python make load."""
    return [measured("PAYLOAD", "payload"), measured("TCP_STREAM", "sockets")]


def switch():
    """Have the dead man's switch fire."""
    dead_man.arm(0.01, snapshot.PATH)
    assert wait_until(lambda: dead_man.find() is None, patience=30)
    assert Path(dead_man.FIRED).exists()
    dead_man.disarm()


def asked_probe():
    """Ask the probe."""
    there = probe_process.start(ADDRESS, PORT)
    with contextlib.closing(probe.Probe(ADDRESS, PORT, there["token"])) as client:
        client.clock()
    probe_process.stop(ADDRESS, PORT)


def pack(path, text):
    """Write an archive of modules with this text; all such archives have the same layout."""
    with zipfile.ZipFile(path, "w") as stream:
        for name in ("of_the_module", "late", *LATE):
            stream.writestr(f"{name}.py", text.ljust(1000))


def outlived():
    """Have a process outlive its module, whose archive nobody replaces; return what it imported."""
    archive = Path("/tmp/ansible_payload/payload.zip")
    archive.parent.mkdir(mode=0o700)
    pack(archive, "")
    sys.path.insert(0, str(archive))
    __import__("of_the_module")
    begin = Path("/run/begin")
    result = Path("/run/result")
    pid = daemons.detach(lambda: late_imports(begin, result), [])
    shutil.rmtree(archive.parent)
    as_nobody("mkdir", str(archive.parent))
    planted = Path("/run/planted.zip")
    pack(planted, CANARY)
    as_nobody("tee", str(archive), input=planted.read_bytes(), stdout=subprocess.DEVNULL)
    begin.touch()
    assert wait_until(lambda: processes.started_at(pid) is None)
    return json.loads(result.read_text())


def late_imports(begin, result):
    while not begin.exists():
        time.sleep(0.02)
    places = []
    for name in ("late", *[name for name in LATE if name in NAMES]):
        with contextlib.suppress(ImportError):
            places.append(__import__(name).__file__)
    result.write_text(json.dumps(places))


PARTS = {"engines": engines, "switch": switch, "probe": asked_probe, "outlived": outlived}

if __name__ == "__main__":
    plant()
    try:
        answer = PARTS[sys.argv[1]]()
    except LabError as error:
        answer = str(error)
    print(json.dumps({"answer": answer, "canaries": sorted(os.listdir(CANARIES))}))
