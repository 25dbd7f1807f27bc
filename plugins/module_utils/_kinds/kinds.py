# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All kinds of settings, in the order in which they are set. A new kind is a file and a line here.

Pure.
"""

from __future__ import annotations

from .channels import CHANNELS
from .coalesce import COALESCE
from .feature import FEATURE
from .kind import EthtoolKind, Kind
from .rings import RINGS
from .rps import RPS
from .rx_flow_hash import RX_FLOW_HASH
from .steering import Steering
from .tunnel_csum import TUNNEL_CSUM
from .xps import XPS

IN_ORDER: list[Kind] = [
    CHANNELS,  # a new number of channels resets what the others rest on
    RINGS,
    COALESCE,
    RX_FLOW_HASH,
    FEATURE,
    RPS,
    XPS,
    TUNNEL_CSUM,
]
KINDS: dict[str, Kind] = {kind.name: kind for kind in IN_ORDER}
GROUPS: dict[str, Kind] = {kind.group: kind for kind in IN_ORDER if kind.group}
BY_ETHTOOL: dict[str, EthtoolKind] = {
    kind.group: kind for kind in IN_ORDER if isinstance(kind, EthtoolKind)
}
STEERING: dict[str, Steering] = {kind.name: kind for kind in IN_ORDER if isinstance(kind, Steering)}
# The keys of a device's settings that module ethtool leaves to others.
NOT_BY_ETHTOOL = [*STEERING, *(TUNNEL_CSUM.settings or ())]
