# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""reproduce.sh over a NIC that lies: the script alone, between two namespaces. It needs root.

``python -m …lying_nic.reproduced [NAME…]`` runs it for the known cases that can be played, and for the
common faults of :mod:`.forty`: with the fault, and on an honest card. It prints a row for each.
``python -m …lying_nic.reproduced clean RUNS [SECONDS]`` runs their scripts on honest cards alone, and
prints how many runs reproduced anything. A trial lasts SECONDS.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ansible_collections.offload.lab.plugins.module_utils._nodes.faults import HONEST
from ansible_collections.offload.lab.plugins.plugin_utils._exports import reproduction
from ansible_collections.offload.lab.plugins.plugin_utils._exports.reproduction import (
    Reproduction,
)
from ansible_collections.offload.lab.plugins.plugin_utils._exports.reproduction_ends import (
    DeviceFeature,
    EndSettings,
)
from ansible_collections.offload.lab.plugins.plugin_utils._known_cases.known_cases import (
    known_cases,
)
from ansible_collections.offload.lab.tests.instruments.lying_nic import forty, nodes

# In place of ssh: a host is a namespace, and the connection to it is cat.
SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
cat | { ip netns exec "$2" sh -c "$3"; kill $$; }
"""


PREFERRED = (forty.TSO, forty.TX, forty.USO, forty.GRO)  # of the settings of a known case


class Case(NamedTuple):
    """A fault, and the setting that is to blame."""

    name: str
    fault: str
    guilty: str

    @property
    def tunnel(self) -> bool:
        """Return whether the fault concerns packets in a tunnel alone."""
        return "tunnel" in self.fault

    @property
    def kind(self) -> str:
        """Return the protocol and the direction that show the fault."""
        if self.guilty == forty.GRO:
            return "tcp_reverse"
        return "udp_forward" if "uso" in self.fault or "udp" in self.fault else "tcp_forward"


def guilty_of(fault: str, settings: Sequence[str]) -> str:
    """Return the setting of a known case that the condition of its fault names."""
    _kind, _rate, conditions = fault.split(":")
    short = {"uso": forty.USO}
    named = {short.get(condition, condition) for condition in conditions.split("+")}
    return next(name for name in PREFERRED if name in named and name in settings)


def played() -> list[Case]:
    """Return the known cases that can be played."""
    return [
        Case(case.name, case.fault, guilty_of(case.fault, case.settings))
        for case in known_cases()
        if case.fault
    ]


def common() -> list[Case]:
    """Return the common faults."""
    return [Case(fault, fault, guilty) for fault, guilty in forty.COMMON]


def tried(
    features: dict[str, str],
    cured: dict[str, str],
    kinds: list[str],
    least: int = 1,
    tunnel: bool = False,
) -> Reproduction:
    """Return what a script tries on the first device of :class:`nodes.Nodes`."""
    broken, cure = (
        [
            DeviceFeature("-", nodes.DEVICES[0], name, value, "underlay", "tun")
            for name, value in settings.items()
        ]
        for settings in (features, cured)
    )
    client, server = nodes.VXLAN_ENDS if tunnel else nodes.ENDS
    return Reproduction(
        campaign="lying",
        path="physical",
        kind="the payload arrived wrong",
        kinds=kinds,
        least=least,
        rate=0,
        port=int(nodes.PORT),
        mtu=nodes.MTU,
        nodes=(EndSettings("-", client, broken, cure), EndSettings("-", server, [], [])),
        layers="card",
        why_not="the fault is one of driver tun",
    )


def script_of(case: Case, seconds: float = reproduction.SECONDS_ONE) -> str:
    """Return the script of a case; a trial lasts ``seconds``."""
    text = reproduction.script(tried(*settings_of(case.guilty), [case.kind], tunnel=case.tunnel))
    return text.replace(f"={reproduction.SECONDS_ONE} ", f"={seconds} ", 1)


@contextlib.contextmanager
def written(text: str) -> Iterator[pathlib.Path]:
    """Write a script and the stand-in of ssh next to it, where nobody else can write."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, reproduction.FILE)
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


class Run(NamedTuple):
    """What a script printed, and its exit status."""

    status: int
    text: str
    seconds: float

    def in_words(self) -> str:
        """Return the exit status, the time and the last line."""
        lines = [line for line in self.text.splitlines() if "eproduced" in line or "Could" in line]
        return f"{self.status} in {self.seconds:.0f} s: {' '.join(lines)}"


def run_case(case: Case, nic: str, seconds: float = reproduction.SECONDS_ONE) -> Run:
    """Run the script of a case once, over a card with a fault or an honest one."""
    script = written(script_of(case, seconds))
    with nodes.Nodes(nic, tunnel=case.tunnel) as made, script as path:
        return Run(*ran(path, made.spaces))


def run_faults(names: Sequence[str]) -> None:
    """Print a row for each case."""
    for case in [*played(), *common()]:
        if names and case.name not in names:
            continue
        row = [f"{case.name} ({case.fault})"]
        for nic in (case.fault, HONEST):
            run = run_case(case, nic)
            row.append(run.in_words())
            if os.environ.get("SHOW"):
                print(run.text)
        print(" | ".join(row), flush=True)


def run_clean(runs: int, seconds: float = reproduction.SECONDS_ONE) -> None:
    """Run the scripts of all cases in turn on honest cards; print each exit status, then the sums."""
    statuses: Counter[int] = Counter()
    for _number, case in zip(range(runs), itertools.cycle([*played(), *common()])):
        run = run_case(case, HONEST, seconds)
        statuses[run.status] += 1
        print(f"{case.name} ({case.kind}): {run.in_words()}", flush=True)
        if run.status:
            print(run.text, flush=True)
    print(f"of {runs} clean runs {statuses[1]} reproduced anything, {statuses[2]} could not run")


def main(arguments: list[str]) -> None:
    """Run what the arguments name."""
    if arguments[:1] == ["clean"]:
        run_clean(int(arguments[1]), *map(float, arguments[2:]))
    else:
        run_faults(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
