#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel VXLAN device that converges."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vxlan_device
short_description: Make a kernel VXLAN device with several remotes
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Makes a VXLAN device of the kernel, as the tunnel of a bridge on Open vSwitch's userspace datapath.
  - Every remote gets a copy of frames with an unknown receiver (head-end replication). With more than two hosts
    broadcasts cannot loop, because the device never sends out what came in through it.
  - The MTU is derived from the device that has the address O(local).
  - The kernel cannot change O(id), O(dstport) and O(csum) of a device, so the device is recreated for them. Its port on
    Open vSwitch is removed first, because Open vSwitch would keep the old device open. Add the port again with
    M(offload.lab.ovs_ports).
  - Its devices carry the alias C(offload.lab:tunnel). A device without it is never changed.
extends_documentation_fragment:
  - offload.lab.attributes
  - offload.lab.sign_of_life
options:
  name:
    description:
      - Name of the device, at most 15 characters.
    type: str
    default: vxlan0
  id:
    description:
      - VXLAN network identifier (VNI), 0 to 16777215.
    type: int
    default: 10
  dstport:
    description:
      - UDP port of all hosts, 1 to 65535.
    type: int
    default: 4789
  local:
    description:
      - The address of this host on the underlay, without prefix length. A device must have it.
      - Required for O(state=present).
    type: str
  remotes:
    description:
      - Addresses of the other hosts, of the same family as O(local).
    type: list
    elements: str
    default: []
  csum:
    description:
      - Whether outer packets have a UDP checksum.
    type: bool
    default: false
  mtu:
    description:
      - MTU in bytes. The largest, and the default, is the underlay's less 50, or less 70 over IPv6.
    type: int
  keep:
    description:
      - With O(state=absent), names of the module's devices that stay; all others of its devices are removed, whatever
        O(name) is. An empty list removes all.
    type: list
    elements: str
  state:
    description:
      - Whether the device should exist.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: offload.lab.ovs_ports
"""

EXAMPLES = r"""
- name: Connect this host to two others
  offload.lab.vxlan_device:
    name: vxlan0
    id: 10
    local: 198.18.0.1
    remotes:
      - 198.18.0.2
      - 198.18.0.3

- name: Remove the device
  offload.lab.vxlan_device:
    name: vxlan0
    state: absent

- name: Remove all devices that this module made
  offload.lab.vxlan_device:
    keep: []
    state: absent
"""

RETURN = r"""
device:
  description: The device now, or in check mode after the change; null if there is none.
  returned: success
  type: dict
  sample: {"id": 10, "dstport": 4789, "local": "198.18.0.1", "csum": false, "mtu": 8950, "remotes": ["198.18.0.2"],
           "up": true}
removed:
  description: Names of the devices that were removed, or would be.
  returned: with O(keep)
  type: list
  elements: str
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

from typing import cast

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._base.errors import InputError
from ..module_utils._host.module import Returned, result_of, run_module
from ..module_utils._host.privileges import require
from ..module_utils._host.runner import apply
from ..module_utils._iproute import read as iproute_read
from ..module_utils._lab.vxlan_devices import (
    Fdb,
    Links,
    VxlanOptions,
    VxlanSummary,
    WantedVxlan,
    plan_absent,
    plan_present,
    plan_purge,
    summary,
    wanted_device,
)
from ..module_utils._ovs import database
from ..module_utils._restore import watched_change

OPTIONS = ("name", "id", "dstport", "local", "remotes", "csum", "mtu")


def read(name: str) -> tuple[Links, Fdb]:
    """Return ``(links, forwarding database)``."""
    links = iproute_read.read()
    vxlan = name in links and links[name]["kind"] == "vxlan"
    return links, iproute_read.read_fdb(name) if vxlan else []


def purge(keep: list[str], check_mode: bool) -> Returned:
    """Remove our devices except some; return the module's result."""
    keep = [network.device_name(name) for name in keep]
    links = iproute_read.read()
    ovs = database.read(missing_ok=True)
    names, steps = plan_purge(links, ovs, keep)
    if not check_mode:
        apply(steps)
    before = {"devices": sorted([*keep, *names])}
    diff = {"before": before, "after": {"devices": sorted(keep)}}
    return {**result_of("device", None, None, steps), "removed": names, "diff": diff}


def as_wanted(vxlan: WantedVxlan) -> VxlanSummary:
    """Return what a user sees of a device that is made as wanted."""
    return {
        "id": vxlan["id"],
        "dstport": vxlan["dstport"],
        "local": vxlan["local"],
        "csum": vxlan["csum"],
        "mtu": vxlan["mtu"],
        "remotes": vxlan["remotes"],
        "up": True,
    }


def converge(module: AnsibleModule) -> Returned:
    """Bring the device to what is wanted; return the module's result."""
    require(["CAP_NET_ADMIN"])
    params = module.params
    check_mode = module.check_mode
    if params["keep"] is not None:
        if params["state"] != "absent":
            raise InputError("says what is not removed", "keep", "Use it with state=absent.")
        return purge(params["keep"], check_mode)
    name = network.device_name(params["name"])
    links, fdb = read(name)
    ovs = database.read(missing_ok=True)
    after: VxlanSummary | None = None
    if params["state"] == "present":
        options = cast(VxlanOptions, {option: params[option] for option in OPTIONS})
        vxlan = wanted_device(options, links)
        steps = plan_present(links, fdb, ovs, vxlan)
        after = as_wanted(vxlan)
    else:
        steps = plan_absent(links, ovs, name)
    before = summary(links.get(name), fdb)
    if not steps:
        after = before
    elif not check_mode:
        apply(steps)
        links, fdb = read(name)
        after = summary(links.get(name), fdb)
    return result_of("device", before, after, steps)


def main() -> None:
    run_module(
        {
            "name": {"type": "str", "default": "vxlan0"},
            "id": {"type": "int", "default": 10},
            "dstport": {"type": "int", "default": network.VXLAN_PORT},
            "local": {"type": "str"},
            "remotes": {"type": "list", "elements": "str", "default": []},
            "csum": {"type": "bool", "default": False},
            "mtu": {"type": "int"},
            "keep": {"type": "list", "elements": "str"},
            "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
            **watched_change.OPTIONS,
        },
        watched_change.watching(converge),
        required_if=[("state", "present", ["local"])],
    )


if __name__ == "__main__":
    main()
