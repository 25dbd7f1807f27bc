# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the names and addresses of the network, checked before anything is changed, and the numbers
of its formats.

One rule holds for all names, so what can be made can also be measured. A name is an argument of ip,
ethtool and ovs-vsctl, a word of a batch file, half of the key ``netns/name`` of results, and part
of paths in /sys and /run.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Mapping, Union

from .checks import number, shown
from .errors import InputError

# The marks by which the lab knows what it has made; it leaves alone what others have.
OWNER = "offload-lab"  # the key of external_ids in Open vSwitch
ALIAS = "offload.lab:"  # the beginning of the ifalias of a link
MAX_DEVICE = 15  # IFNAMSIZ of linux/if.h, less the final NUL
# Of the 255 bytes of a file's name: a state file has an address and a port in its name, too
MAX_NAMESPACE = 200
MIN_MTU = 68  # RFC 791
MIN_MTU_IPV6 = 1280  # RFC 8200, section 5; the kernel ends IPv6 on a device below
MAX_MTU = 65535
HOST = "lo"  # the device that stands for its host
VXLAN_PORT = 4789  # RFC 7348
VXLAN_PORTS = (VXLAN_PORT, 8472)  # the second is the kernel's default, which flannel takes
NETSERVER_PORT = 12865  # netperf's own
PROBE_PORT = 12866
# From netserver's port to the port of the first stream's data connection; each stream has its own
DATA_OFFSET = 5
MOST_STREAMS = 2000  # a thousand streams both ways
GENEVE_PORT = 6081  # RFC 8926
# Bytes by IP version of the underlay: Ethernet 14, IP 20 or 40, UDP 8, VXLAN 8
VXLAN_OVERHEAD = {4: 50, 6: 70}
# The same of each tunnel. Geneve has 8 bytes without options, as Open vSwitch sends it. GRE has 4, a key
# of 4, and 4 more of a checksum: room for it is always left, because a campaign may switch it on.
OVERHEAD = {"vxlan": VXLAN_OVERHEAD, "geneve": {4: 50, 6: 70}, "gre": {4: 46, 6: 66}}
VLAN_TAG = 4  # bytes

# The kernel takes almost any byte in the name of a device (dev_valid_name() of net/core/dev.c). We take
# these only: none of them means anything to a shell, a unit of systemd, ip -batch, a template or a
# path. A leading "-" is an option, and a leading "@" a row's label of ovs-vsctl.
_NAME = re.compile(r"(?![-@]|\.{1,2}\Z)[A-Za-z0-9._@=+-]+\Z")
SIGNS = "Use letters, digits and the signs . _ @ = + - only, and no - or @ at the start."
# podman and docker: names.go of each; crictl takes the ID of a container
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")

NamedDevice = Mapping[str, Any]  # with "name", and "netns" where that is not the process's own
Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Interface = Union[ipaddress.IPv4Interface, ipaddress.IPv6Interface]


def _name(value: Any, what: str, longest: int) -> str:
    if not isinstance(value, str) or not _NAME.match(value):
        raise InputError(
            f"not a usable name for a {what}",
            shown(value),
            SIGNS,
        )
    if len(value) > longest:
        raise InputError(
            f"{len(value)} characters are too many for a {what}",
            shown(value),
            f"Use at most {longest} characters.",
        )
    return value


def device_name(value: Any, what: str = "device", longest: int = MAX_DEVICE) -> str:
    """Return the name of a network device, or raise InputError when ``what`` cannot be called so."""
    return _name(value, what, longest)


def namespace_name(value: Any) -> str:
    """Return the name of a network namespace, or raise InputError."""
    return _name(value, "network namespace", MAX_NAMESPACE)


def container_name(value: Any) -> str:
    """Return the name or the ID of a container, or raise InputError."""
    if not isinstance(value, str) or not _CONTAINER.match(value):
        raise InputError(
            "not a usable name for a container",
            shown(value),
            "Use 1 to 128 letters, digits and the signs . _ -, and a letter or digit first.",
        )
    return value


def is_device_name(value: Any) -> bool:
    """Return whether a device that a node reports has a name that the lab can use."""
    return isinstance(value, str) and len(value) <= MAX_DEVICE and bool(_NAME.match(value))


def is_namespace_name(value: Any) -> bool:
    """Return whether a network namespace that a node reports has a name that the lab can use."""
    return isinstance(value, str) and len(value) <= MAX_NAMESPACE and bool(_NAME.match(value))


def device_key(name: str, netns: str | None = None) -> str:
    """Return the name of a device in results: ``name``, or ``netns/name``."""
    return f"{netns}/{name}" if netns else name


def key_of(device: NamedDevice) -> str:
    """Return :func:`device_key` of a device."""
    return device_key(device["name"], device.get("netns"))


def address(value: Any, what: str) -> Address:
    """Return an IPv4 or IPv6 address, or raise InputError."""
    try:
        if not isinstance(value, str) or "%" in value:  # an IPv6 zone may be any text
            raise ValueError
        return ipaddress.ip_address(value)
    except ValueError:
        raise InputError(
            "not an IP address",
            f"{what} {shown(value)}",
            "Give an IPv4 or IPv6 address without a prefix length.",
        )


def interface(value: Any, what: str) -> Interface:
    """Return an address with its prefix length (``192.168.10.1/24``), or raise InputError."""
    try:
        if not isinstance(value, str) or "/" not in value or "%" in value:
            raise ValueError
        return ipaddress.ip_interface(value)
    except ValueError:
        raise InputError(
            "not an IP address with its prefix length",
            f"{what} {shown(value)}",
            "Write it as 192.168.10.1/24 or 2001:db8::1/64.",
        )


def port(value: Any, what: str) -> int:
    """Return a TCP or UDP port, or raise InputError."""
    return number(value, what, 1, 65535)
