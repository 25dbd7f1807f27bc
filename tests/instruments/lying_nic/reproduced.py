# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""reproduce.sh over a NIC that lies: the script alone, between two namespaces.

``python -m …lying_nic.reproduced`` runs it for faults of :mod:`.forty` and their settings: with the
fault, and on an honest card. It prints a row each. It needs root.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from ansible_collections.offload.lab.plugins.module_utils._lying_nic.faults import HONEST
from ansible_collections.offload.lab.plugins.plugin_utils._exports.reproduce import (
    script_text,
)
from ansible_collections.offload.lab.plugins.plugin_utils._exports.reproduce.features import (
    DeviceFeature,
    EndSettings,
)
from ansible_collections.offload.lab.plugins.plugin_utils._exports.reproduce.reproduction import (
    Reproduction,
)
from ansible_collections.offload.lab.tests.instruments.lying_nic import forty, nodes

# In place of ssh: a host is a namespace, and the connection to it is cat.
SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
cat | { ip netns exec "$2" sh -c "$3"; kill $$; }
"""


def tried(
    features: dict[str, str], cured: dict[str, str], kinds: list[str], least: int = 1
) -> Reproduction:
    """Return what a script tries on the first device of :class:`nodes.Nodes`."""
    broken, cure = (
        [
            DeviceFeature("-", nodes.DEVICES[0], name, value, "underlay", "tun")
            for name, value in settings.items()
        ]
        for settings in (features, cured)
    )
    return Reproduction(
        campaign="lying",
        path="physical",
        kind="the payload arrived wrong",
        kinds=kinds,
        least=least,
        rate=0,
        port=int(nodes.PORT),
        mtu=nodes.MTU,
        nodes=(EndSettings("-", "192.0.2.1", broken, cure), EndSettings("-", nodes.SERVER, [], [])),
        layers="card",
        why_not="the fault is one of driver tun",
    )


@contextlib.contextmanager
def written(text: str) -> Iterator[pathlib.Path]:
    """Write a script and the stand-in of ssh next to it, where nobody else can write."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, script_text.FILE)
        path.write_text(text)
        ssh = pathlib.Path(folder, "ssh")
        ssh.write_text(SSH)
        ssh.chmod(0o755)
        yield path


def started(script: pathlib.Path, spaces: tuple[str, str]) -> subprocess.Popen[str]:
    """Start a script between two namespaces, without the collection."""
    path = f"{script.parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    return subprocess.Popen(
        ["sh", str(script), *spaces],
        env={"PATH": path},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        start_new_session=True,
        # A process that a shell started in the background ignores SIGINT, and so would the script.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 # no threads
    )


def ran(script: pathlib.Path, spaces: tuple[str, str]) -> tuple[int, str, float]:
    """Run a script; return its exit status, its output and its seconds."""
    began = time.monotonic()
    with started(script, spaces) as process:
        text, _nothing = process.communicate(timeout=180)
    return process.returncode, text, time.monotonic() - began


def settings_of(guilty: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the features with the fault and with the cure."""
    needs = {"tx": "on"} if guilty in (forty.TSO, forty.USO) else {}
    return {**needs, guilty: "on"}, {guilty: "off"}


def main(names: list[str]) -> None:
    """Print a row for each fault."""
    for fault, guilty, _seconds in forty.CASES:
        if names and fault not in names:
            continue
        kinds = ["udp_forward"] if "uso" in fault or "udp" in fault else ["tcp_forward"]
        if guilty == forty.GRO:
            kinds = ["tcp_reverse"]
        broken, cured = settings_of(guilty)
        script = script_text.script(tried(broken, cured, kinds))
        row = [fault]
        for nic in (fault, HONEST):
            with nodes.Nodes(nic, "ol-again") as made, written(script) as path:
                status, text, seconds = ran(path, made.spaces)
            said = [line for line in text.splitlines() if "eproduced" in line or "Could" in line]
            row.append(f"{status} in {seconds:.0f} s: {' '.join(said)}")
            if os.environ.get("SHOW"):
                print(text)
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
