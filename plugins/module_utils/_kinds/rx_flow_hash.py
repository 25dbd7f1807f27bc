# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The header fields that spread a flow type over receive queues (``ethtool -N DEV rx-flow-hash udp4
sdfn``). Pure.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping

from .._base.checks import shown
from .._base.errors import InputError
from .._base.network import device_key
from .._ethtool.rss import check_letters
from .kind import KindState, Reader
from .listed import Listed

FLOW_TYPE = re.compile(r"^[a-z][a-z0-9]{1,8}\Z")


def check_flow_types(flow_types: Iterable[str], device: str) -> None:
    """Raise :class:`InputError` for names that cannot be flow types such as udp4."""
    for flow_type in flow_types:
        if not FLOW_TYPE.match(flow_type):
            raise InputError(
                f"{shown(flow_type)} is not a flow type", device, "Use one such as udp4 or tcp6."
            )


class RxFlowHash(Listed):
    """The hash fields of flow types."""

    name = group = "rx_flow_hash"
    about = "chooses the header fields that spread packets over receive queues"
    availability = "`ethtool -N DEV rx-flow-hash`; drivers with RSS; veth refuses it"
    settings = ["udp4"]
    levels = ["sd", "sdfn"]
    set_option = "-N"

    def value(self, level: str) -> str:
        if re.fullmatch(r"[mvtsdfnelr]{1,10}", str(level)):
            return level
        raise ValueError("letters of 'mvtsdfnelr', such as sd or sdfn")

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        for name, flow_types in devices.items():
            check_flow_types(flow_types, device_key(name, netns))
        return {
            name: reader.read_flow_hash(name, list(flow_types), netns)
            for name, flow_types in devices.items()
        }

    def setting_name(self, name: str) -> str:
        return name

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        return check_letters(str(value), f"{where} {name}")

    def steps(self, change: Mapping[str, Any], name: str) -> list[list[str]]:
        return [
            ["ethtool", self.set_option, name, "rx-flow-hash", flow_type, letters]
            for flow_type, letters in change.items()
        ]


RX_FLOW_HASH = RxFlowHash()
