# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All kinds of settings, in the order in which they are set. A new kind is a class in a file and a line here.

Pure.
"""

from __future__ import annotations

from .command import COMMAND
from .ethtool_lists import CHANNELS, COALESCE, EEE, PAUSE, PRIVATE_FLAGS, RINGS
from .feature import FEATURE
from .host import (
    BUSY_POLL,
    BUSY_READ,
    DEFAULT_QDISC,
    NETDEV_BUDGET,
    NETDEV_MAX_BACKLOG,
    RPS_SOCK_FLOW_ENTRIES,
    TCP_CONGESTION_CONTROL,
    TCP_RMEM,
    TCP_WMEM,
    HostKind,
)
from .iproute2 import BIG_TCP, QDISC
from .kind import DeviceKind, Kind
from .napi import (
    GRO_FLUSH_TIMEOUT,
    IRQ_SUSPEND_TIMEOUT,
    NAPI_DEFER_HARD_IRQS,
    NAPI_GRO_FLUSH_TIMEOUT,
    NAPI_THREADED,
    THREADED,
)
from .ovs import OVS
from .rss import RSS_WEIGHTS, RX_FLOW_HASH
from .steering import IRQ_AFFINITY, RFS, RPS, XPS
from .sysfs import Sysfs
from .tunnel_csum import TUNNEL_CSUM
from .xdp import XDP

IN_ORDER: list[Kind] = [
    COMMAND,  # nobody knows what it resets
    CHANNELS,  # a new number of channels resets what the others rest on
    RINGS,
    COALESCE,
    RX_FLOW_HASH,
    RSS_WEIGHTS,
    XDP,  # native XDP takes features from a device or its peer
    THREADED,  # a veth whose GRO goes off has no NAPI left to thread
    FEATURE,
    PRIVATE_FLAGS,
    PAUSE,
    EEE,
    BIG_TCP,
    QDISC,
    GRO_FLUSH_TIMEOUT,
    NAPI_DEFER_HARD_IRQS,
    NAPI_GRO_FLUSH_TIMEOUT,  # behind gro_flush_timeout, which sets it too
    IRQ_SUSPEND_TIMEOUT,
    NAPI_THREADED,
    RPS,
    RPS_SOCK_FLOW_ENTRIES,
    RFS,
    XPS,
    IRQ_AFFINITY,
    BUSY_POLL,
    BUSY_READ,
    NETDEV_BUDGET,
    NETDEV_MAX_BACKLOG,
    DEFAULT_QDISC,
    TCP_RMEM,
    TCP_WMEM,
    TCP_CONGESTION_CONTROL,
    OVS,
    TUNNEL_CSUM,
]
KINDS: dict[str, Kind] = {kind.name: kind for kind in IN_ORDER}
GROUPS: dict[str, Kind] = {kind.group: kind for kind in IN_ORDER if kind.group}
DEVICE_KINDS: dict[str, DeviceKind] = {
    kind.group: kind for kind in IN_ORDER if isinstance(kind, DeviceKind)
}
HOST_KINDS = [kind for kind in IN_ORDER if isinstance(kind, HostKind)]
# What a snapshot keeps of a host as a whole.
OF_HOST: list[DeviceKind] = [*HOST_KINDS, OVS]
# The kinds of module steering; module ethtool sets all.
STEERING = [group for group, kind in DEVICE_KINDS.items() if kind.program != "ethtool"]
# What of a device is read as files of sysfs.
SYSFS_FILES = [kind.file for kind in IN_ORDER if isinstance(kind, Sysfs) and kind.file]
