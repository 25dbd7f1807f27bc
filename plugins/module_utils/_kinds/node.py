# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kinds read a node with: ethtool, files of sysfs, and other commands that list devices."""

from __future__ import annotations

from typing import Any, Callable

from .._base.errors import CommandError
from .._base.steps import in_netns
from .._ethtool import read as ethtool
from .._ethtool.driver import failure_reason
from .._host.netns import inside
from .._host.runner import run
from . import napi_netlink, sysfs, xdp_program
from .kinds import SYSFS_FILES

CALLS: dict[str, Callable[..., None]] = {
    "napi_set": napi_netlink.set_number,
    "set_xdp": xdp_program.set_level,
}


class NodeReader:
    """Reads the devices of a node for one task; what one process lists for several kinds is kept."""

    read_features = staticmethod(ethtool.read_features)
    read_flow_hash = staticmethod(ethtool.read_flow_hash)

    def __init__(self) -> None:
        self._files: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
        self._napis: dict[str, dict[str, list[napi_netlink.Napi]]] = {}
        self._outputs: dict[tuple[str, ...], tuple[str, str | None]] = {}

    def read_listing(
        self, option: str, parse: Callable[[str], Any], names: list[str], netns: str | None
    ) -> dict[str, tuple[Any, str | None]]:
        """Return what ethtool lists of devices for an option, or why it lists nothing."""
        return ethtool.read_listing(option, parse, names, netns)

    def read_files(self, names: list[str], netns: str | None) -> dict[str, dict[str, str]]:
        """Return ``{device: {path below its folder in sysfs: text}}`` of the files that kinds are.

        A file that is not there or cannot be read is left out. ``ip netns exec`` shows the sysfs of
        the namespace.
        """
        key = (netns or "", *names)
        if key not in self._files:
            argv = in_netns(sysfs.listing(names, SYSFS_FILES), netns)
            self._files[key] = sysfs.parse_listing(run(argv, check=False).out)
        return self._files[key]

    def read_text(self, path: str) -> str | None:
        """Return the text of a file of the host, None where it cannot be read."""
        try:
            with open(path, encoding="ascii") as stream:
                return stream.read().strip()
        except OSError:
            return None

    def read_napis(self, netns: str | None) -> dict[str, list[napi_netlink.Napi]]:
        """Return the NAPI instances of each device of a namespace, in the order of their queues."""
        key = netns or ""
        if key not in self._napis:
            with inside(netns):
                self._napis[key] = napi_netlink.read()
        return self._napis[key]

    def read_program_name(self, number: Any) -> str | None:
        """Return the name of a BPF program by its number, None where it is not known."""
        return xdp_program.name_of(number) or None if isinstance(number, int) else None

    def read_output(self, argv: list[str], netns: str | None) -> tuple[str, str | None]:
        """Return what a command prints, and why it failed, None where it did not."""
        key = (netns or "", *argv)
        if key not in self._outputs:
            self._outputs[key] = _output(argv, netns)
        return self._outputs[key]


def _output(argv: list[str], netns: str | None) -> tuple[str, str | None]:
    """A program that is not installed is a reason like others: tc is a package of its own on EL."""
    try:
        result = run(argv, netns=netns, check=False)
    except CommandError as error:
        return "", f"{argv[0]} {error.what}"
    return result.out, failure_reason(result.err, result.out) if result.rc != 0 else None
