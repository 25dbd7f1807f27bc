#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: ovs_buffers
short_description: Set the receive buffers of the ports of the userspace datapath
version_added: 0.1.0
description:
  - Open vSwitch's userspace datapath (C(datapath_type=netdev)) reads packets from a kernel device through a packet
    socket, whose receive buffer has 208 KiB (C(net.core.rmem_default)). A few packets of 64 KiB fill it, and further
    packets are lost.
  - Sets the buffers of the lab's own ports of a bridge, on their open sockets. It does not change the host's settings,
    and the buffers disappear with the ports.
  - The kernel's datapath has no such sockets. Then nothing is changed.
  - Where ovs-vswitchd's sockets cannot be reached or set (Linux before 5.6, a container without C(CAP_SYS_PTRACE), or
    one with a user namespace of its own), a warning says so and the buffers stay as they are.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes
  - offload.lab.sign_of_life
options:
  bridge:
    description: Name of the bridge.
    type: str
    default: br-int
  size:
    description:
      - Size of each buffer in bytes, as the kernel reports it (C(SO_RCVBUF), C(ss --memory)), 8192 to 1073741824. It
        includes what the kernel needs to manage the packets.
    type: int
    default: 16777216
notes:
  - Needs root.
seealso:
  - module: offload.lab.ovs_ports
"""

EXAMPLES = r"""
- name: Give the switch room for 16 MiB from each port
  offload.lab.ovs_buffers:
    bridge: br-int
"""

RETURN = r"""
ports:
  description: By port the size of its receive buffer in bytes after the task.
  returned: success
  type: dict
  sample: {vxlan0: 16777216}
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import checks, network
from ..module_utils._base.errors import LabError
from ..module_utils._host.module import Returned, run_module
from ..module_utils._ovs import database, ovs_state, packet_sockets
from ..module_utils._restore import watched_change


def our_ports(bridge: str, check_mode: bool) -> set[str]:
    """Return the names of the ports that the lab made, if packets come to them by a packet socket."""
    state = database.read(missing_ok=check_mode)
    if not check_mode:
        ovs_state.check_ready(state, bridge)
    if state["bridges"].get(bridge, {}).get("datapath_type") != "netdev":
        return set()
    return {
        name
        for name, port in state["ports"].items()
        if port["bridge"] == bridge and ovs_state.owner_of(port)
    }


def resize(names: set[str], size: int, check_mode: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Bring the buffers of these ports to a size in bytes; return the sizes before and after by
    port.
    """
    process = database.pid("ovs-vswitchd")

    def ours() -> dict[str, int]:
        return {name: size for name, size in packet_sockets.sizes(process).items() if name in names}

    before = ours()
    sizes = dict.fromkeys(before, size)
    if check_mode or before == sizes:
        return before, sizes
    packet_sockets.set_sizes(process, sizes)
    return before, ours()


def converge(module: AnsibleModule) -> Returned:
    """Bring all buffers to the wanted size and return the module's result."""
    before: dict[str, int] = {}
    after = before
    size = checks.number(module.params["size"], "size", 8192, 1 << 30) // 2 * 2
    bridge = network.device_name(module.params["bridge"], "bridge")
    names = our_ports(bridge, module.check_mode)
    try:
        if names:
            before, after = resize(names, size, module.check_mode)
    except LabError as error:
        module.warn(
            "ovs-vswitchd keeps its small receive buffers, "
            f"and many simultaneous streams lose packets: {error}"
        )
    return {"changed": before != after, "ports": after, "diff": {"before": before, "after": after}}


def main() -> None:
    run_module(
        {
            "bridge": {"type": "str", "default": "br-int"},
            "size": {"type": "int", "default": 16777216},
            **watched_change.OPTIONS,
        },
        watched_change.watching(converge),
    )


if __name__ == "__main__":
    main()
