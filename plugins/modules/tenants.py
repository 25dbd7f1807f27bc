#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tenants: network namespaces with a veth on the switch."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tenants
short_description: Make tenants, network namespaces with a veth on the switch
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Makes any number of tenants in one call. A tenant is a network namespace with one end of a veth, whose other end is
    a port of an Open vSwitch bridge.
  - Tenant V(tenant1) has the namespace V(tenant1), in it the device V(tenant1-veth0), and on the bridge
    the port V(tenant1-veth1).
  - A tenant's device has the listed addresses and, link-local ones apart, no others. The kernel makes no IPv6
    link-local address (C(addrgenmode none)). With one it would solicit routers, which the switch floods to all tenants.
  - Devices that the module makes, and C(lo) of its namespaces, carry the alias C(offload.lab:NAME). Its ports carry
    C(external_ids:offload-lab=tenants). A namespace, device, port or bridge without such a mark is never changed.
  - Open vSwitch keeps a device open that was removed. So the port of a veth that must be recreated is removed first.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  tenants:
    description:
      - The tenants.
      - For O(state=absent) only their names count, and an empty list means every tenant with our mark.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - Name of the tenant, at most 9 characters, and of its namespace.
          - >-
            Letters, digits and signs, but none of C(/ : * % # " ' \), and neither C(-) nor C(@) first. This rule
            holds for all devices and namespaces of this collection.
        type: str
        required: true
      namespace:
        description:
          - Whether the tenant has a namespace of its own.
          - With V(false) both ends of the veth are in the namespace of the host.
        type: bool
        default: true
      addresses:
        description:
          - Addresses of its device with their prefix lengths.
        type: list
        elements: str
        default: []
      mtu:
        description:
          - MTU of its device and port in bytes. The default is O(mtu).
        type: int
      mac:
        description:
          - MAC address of its device. Without it the kernel chooses one.
          - If the MAC address follows from the IP address, neighbours find a recreated tenant immediately.
        type: str
      neighbors:
        description:
          - Permanent neighbour entries of its device (C(nud permanent)), so that it never sends ARP or neighbour
            solicitations to these tenants. The switch floods each of those to all, which many tenants make costly.
          - Permanent entries that are not listed are removed. Entries that the kernel learned are left alone.
        type: list
        elements: dict
        default: []
        suboptions:
          address:
            description:
              - Address of the neighbour, without a prefix length, in a network of the tenant's own addresses.
            type: str
            required: true
          mac:
            description:
              - MAC address of the neighbour.
            type: str
            required: true
      linux_bridge:
        description:
          - Whether a Linux bridge is between the tenant and the switch. It is called C(NAME-br); the veth C(NAME-veth2)
            and C(NAME-veth3) connects it to the switch.
        type: bool
        default: false
      tag:
        description:
          - VLAN of its port on the switch, 0 to 4095.
        type: int
      flat:
        description:
          - Whether its packets leave by an uplink instead of the tunnel. Then the tunnel does not limit its MTU.
        type: bool
        default: false
  bridge:
    description:
      - Name of the bridge. It must exist, unless in check mode or if no tenant is wanted.
    type: str
    default: br-int
  mtu:
    description:
      - MTU in bytes of the tenants without their own.
      - By default the largest that fits into O(underlay_device), or 1500 without it.
    type: int
  underlay_device:
    description:
      - The device that carries the tunnel. A tenant whose MTU does not fit into it is refused.
    type: str
  encapsulation:
    description:
      - Bytes that the tunnel adds to a tenant's IP packet. It is 50 for VXLAN over IPv4, and 70 over IPv6.
    type: int
    default: 50
  purge:
    description:
      - Whether to remove tenants with our mark that are not listed. Used with O(state=present).
    type: bool
    default: false
  state:
    description:
      - V(present) makes the tenants, V(absent) ends the processes in their namespaces and removes them.
    type: str
    choices: [present, absent]
    default: present
notes:
  - Open vSwitch needs some milliseconds for each port that it removes from the userspace datapath. The module waits for
    that only if the same ports are made again.
seealso:
  - module: offload.lab.ovs_ports
  - module: offload.lab.link
"""

EXAMPLES = r"""
- name: Make two tenants with the MTU that the underlay leaves
  offload.lab.tenants:
    underlay_device: eth1
    tenants:
      - name: tenant1
        addresses: [192.168.10.1/24]
      - name: tenant2
        addresses: [192.168.10.3/24]

- name: Make a tenant that never asks for the MAC address of another one
  offload.lab.tenants:
    tenants:
      - name: tenant1
        addresses: [192.168.10.1/24]
        mac: "02:04:c0:a8:0a:01"
        neighbors:
          - address: 192.168.10.2
            mac: "02:04:c0:a8:0a:02"

- name: Let the host itself take part in the overlay
  offload.lab.tenants:
    tenants:
      - name: host
        namespace: false
        addresses: [192.168.0.1/24]
        mtu: 8950

- name: Remove all tenants
  offload.lab.tenants:
    state: absent
"""

RETURN = r"""
tenants:
  description: The tenants that were wanted, or were removed, as they are now or in check mode would be, by name.
  returned: success
  type: dict
  sample: {"tenant1": {"netns": "tenant1", "device": "tenant1-veth0", "port": "tenant1-veth1", "mtu": 8950, "up": true,
           "addresses": ["192.168.10.1/24"], "mac": "02:00:c0:a8:0a:01",
           "neighbors": {"192.168.10.2": "02:00:c0:a8:0a:02"}, "bridge": "br-int"}}
commands:
  description: The commands that were run, or would be.
  returned: success
  type: list
  elements: dict
  contains:
    argv:
      description: The command and its arguments.
      type: list
      elements: str
      returned: success
    stdin:
      description: What it reads from standard input, or null.
      type: str
      returned: success
"""

import contextlib
import os
from typing import Collection, NamedTuple

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._base.errors import InputError, LabError
from ..module_utils._base.steps import Step
from ..module_utils._host import netns as host_netns
from ..module_utils._host.module import Options, Returned, result_of, run_module
from ..module_utils._host.privileges import require
from ..module_utils._host.processes import end_processes
from ..module_utils._host.runner import apply
from ..module_utils._host.waiting import wait_until
from ..module_utils._iproute import read
from ..module_utils._lab.tenants_check import (
    Limit,
    Links,
    Parts,
    check_host,
    wanted_tenants,
)
from ..module_utils._lab.tenants_plan import (
    TenantsSeen,
    TenantSummary,
    led_to,
    owned_namespaces,
    plan_absent,
    plan_present,
    predicted,
    present_names,
    present_tenants,
    summary,
)
from ..module_utils._ovs import database
from ..module_utils._ovs.ovs_state import check_ready

TENANT_SPEC = {
    "name": {"type": "str", "required": True},
    "namespace": {"type": "bool", "default": True},
    "addresses": {"type": "list", "elements": "str", "default": []},
    "mtu": {"type": "int"},
    "mac": {"type": "str"},
    "neighbors": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "address": {"type": "str", "required": True},
            "mac": {"type": "str", "required": True},
        },
    },
    "linux_bridge": {"type": "bool", "default": False},
    "tag": {"type": "int"},
    "flat": {"type": "bool", "default": False},
}


class PlannedTenants(NamedTuple):
    """What is to happen to the tenants."""

    host: TenantsSeen
    gone: list[str]  # the names of those that go
    steps: list[Step]
    after: dict[str, TenantSummary]


def read_host(
    links: Links, names: Collection[str], everything: bool, missing_ok: bool
) -> TenantsSeen:
    """Return what the host has of tenants, and with ``everything`` also what is in namespaces that
    were not named.
    """
    ids = read.namespaces()
    ours = led_to(links, ids)
    inside = {netns: read.read_with_neighbors(netns) for netns in ids if netns in names}
    others = [netns for netns in ids if netns not in names and netns not in ours]
    for netns in others if everything else ():
        # Somebody's namespace that cannot be entered is none of ours
        with contextlib.suppress(LabError):
            inside[netns] = read.read_with_neighbors(netns)
    return {
        "links": links,
        "ids": ids,
        "inside": inside,
        "ovs": database.read(missing_ok),
        "ipv6": os.path.isdir("/proc/sys/net/ipv6"),
    }


def limit_of(links: Links, params: Options) -> Limit | None:
    """Return ``(bytes, why)``, the largest MTU that the underlay leaves, or None if no underlay is
    named.
    """
    name = params["underlay_device"]
    if name is None:
        return None
    if name not in links:
        raise InputError(
            "there is no such network device",
            name,
            "Give the underlay's: offload_lab_underlay_device.",
        )
    return (
        links[name]["mtu"] - params["encapsulation"],
        f"{name} carries {links[name]['mtu']} bytes, and the tunnel takes {params['encapsulation']}.",
    )


def remove_wholly(host: TenantsSeen, names: list[str]) -> None:
    """End the processes in the namespaces that are to go: they would keep a namespace alive without
    its name.
    """
    owned = owned_namespaces(host)
    going = [name for name in names if name in owned and name in host["ids"]]
    if going:
        inodes = [host_netns.inode(host_netns.path_of(name)) for name in going]
        end_processes([inode for inode in inodes if inode is not None])


def wait_gone(names: list[str]) -> None:
    """Wait until the kernel has removed the ports of namespaces, which it does in the background."""
    paths = [os.path.join("/sys/class/net", name) for name in names]
    wait_until(lambda: not any(map(os.path.exists, paths)))


def present(params: Options, check_mode: bool) -> PlannedTenants:
    """Return the plan for tenants that are wanted."""
    links = read.read_with_neighbors()
    bridge = params["bridge"]
    limit = limit_of(links, params)
    usual_mtu = params["mtu"] or (limit[0] if limit else 1500)
    tenants = wanted_tenants(params["tenants"], usual_mtu, limit)
    check_host(tenants, links)
    host = read_host(links, tenants, params["purge"], check_mode or not tenants)
    if tenants and not check_mode:
        check_ready(host["ovs"], bridge)
    gone: list[str] = []
    if params["purge"]:
        gone = [name for name in present_names(host, bridge) if name not in tenants]
    after = {
        name: predicted(tenant, bridge, summary(host, tenant)) for name, tenant in tenants.items()
    }
    return PlannedTenants(host, gone, plan_present(host, bridge, tenants, gone), after)


def absent(params: Options) -> PlannedTenants:
    """Return the plan for tenants that are not wanted; without names: for all of ours."""
    names = [network.device_name(tenant["name"], "tenant") for tenant in params["tenants"]]
    host = read_host(read.read_with_neighbors(), names, not names, True)
    gone = [name for name in present_names(host, params["bridge"]) if not names or name in names]
    return PlannedTenants(host, gone, plan_absent(host, params["bridge"], gone), {})


def converge(module: AnsibleModule) -> Returned:
    """Bring the tenants to what is wanted; return the module's result."""
    require(["CAP_NET_ADMIN", "CAP_SYS_ADMIN"])
    params = module.params
    check_mode = module.check_mode
    network.device_name(params["bridge"], "bridge")
    present_wanted = params["state"] == "present"
    host, gone, steps, after = present(params, check_mode) if present_wanted else absent(params)
    there = present_tenants(host, sorted({*after, *gone}))
    before: dict[str, TenantSummary | Parts | None] = {
        name: summary(host, there[name]) for name in sorted(after)
    }
    before.update((name, there[name]) for name in gone)  # their inside is not read
    if not check_mode:
        remove_wholly(host, gone)
        apply(steps)
        wait_gone([there[name]["port"] for name in gone])
    return result_of("tenants", before, after, steps)


def main() -> None:
    run_module(
        {
            "tenants": {"type": "list", "elements": "dict", "default": [], "options": TENANT_SPEC},
            "bridge": {"type": "str", "default": "br-int"},
            "mtu": {"type": "int"},
            "underlay_device": {"type": "str"},
            "encapsulation": {"type": "int", "default": 50},
            "purge": {"type": "bool", "default": False},
            "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        },
        converge,
    )


if __name__ == "__main__":
    main()
