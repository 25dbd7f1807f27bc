#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: netserver
short_description: Run netserver on lab addresses only
version_added: 0.1.0
description:
  - Starts one netserver for each address, detached, in the network namespace that has the address.
  - A netserver is bound to its address, never to all addresses of a node.
  - Its state is kept in C(/run/offload-lab). Before it signals a process, it checks by start time, command
    line and network namespace that it is the one that it started.
  - If another process holds a port, the task fails before it starts anything.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes
options:
  servers:
    description:
      - The addresses to listen on.
      - With O(state=absent) the netservers to stop, by default all that this module has started on the node.
    type: list
    elements: dict
    default: []
    suboptions:
      address:
        description: The IPv4 or IPv6 address to listen on.
        type: str
        required: true
      port:
        description: The TCP port of the control connections, 1 to 65535.
        type: int
        default: 12865
      netns:
        description: Name of the network namespace that has the address. By default the node's own.
        type: str
  endpoints:
    description:
      - Instead of O(servers), the node's end of each path, as M(offload.lab.lab_node) returns them.
      - A path has C(address) and C(netns), or C(all), a list of these.
    type: dict
  port:
    description: With O(endpoints), the TCP port of the control connections.
    type: int
    default: 12865
  payload:
    description:
      - Run the server of payload checks instead, which compares what arrives with what was sent, byte for byte. It is
        Python alone.
      - With O(endpoints) it listens three ports above O(port).
    type: bool
    default: false
  purge:
    description: Also stop the netservers of this module that are not in O(servers).
    type: bool
    default: false
  state:
    description: Whether the netservers should run.
    type: str
    choices: [present, absent]
    default: present
notes:
  - Needs root where a namespace is given, and for C(/run/offload-lab).
seealso:
  - module: offload.lab.netperf
"""

EXAMPLES = r"""
- name: Listen on the underlay and in a tenant
  offload.lab.netserver:
    servers:
      - address: 198.18.0.2
      - address: 192.168.10.2
        netns: tenant1

- name: Stop all netservers of the lab
  offload.lab.netserver:
    state: absent
"""

RETURN = r"""
servers:
  description: The netservers of the lab that run now, by C(netns/address:port).
  returned: success
  type: list
  elements: str
  sample: ["198.18.0.2:12865", "tenant1/192.168.10.2:12865"]
started:
  description: Those that were started, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ["198.18.0.2:12865"]
stopped:
  description: Those that were stopped, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: []
"""

import os
from typing import Any, Dict, Iterable, Optional

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._host.module import run_module
from ..module_utils._netperf import netserver
from ..module_utils._netperf.command import endpoint

Known = Dict[str, Optional[netserver.State]]  # by state file


def checked(servers: list[dict[str, Any]], payload: bool) -> list[netserver.Server]:
    """Return the servers checked, each once."""
    by_label = {}
    for server in servers:
        end = endpoint(server)
        known: netserver.Server = {
            "netns": end["netns"],
            "address": end["address"],
            "port": end["port"],
            "payload": payload,
        }
        by_label[netserver.label(known)] = known
    return list(by_label.values())


def servers_of(endpoints: dict[str, dict[str, Any]], port: int) -> list[dict[str, Any]]:
    """Return the option ``servers`` for the ends of a node's paths."""
    servers = []
    for path in endpoints.values():
        for end in path.get("all") or [path]:
            servers.append({"address": end["address"], "netns": end.get("netns"), "port": port})
    return servers


def names(before: Known, paths: Iterable[str]) -> list[str]:
    """Return what the processes of state files are called; a file whose process is gone goes by its
    own name.
    """
    return sorted(
        netserver.label(there["server"]) if (there := before[path]) else os.path.basename(path)
        for path in paths
    )


def change(before: Known, stop: list[str], start: list[netserver.Server], check_mode: bool) -> None:
    """Stop and start netservers; those that are stopped do not stand in the way of the others."""
    ours = [netserver.label(there["server"]) for path in stop if (there := before[path])]
    netserver.require_free(
        [server for server in start if netserver.label(server) not in ours], check_mode
    )
    if not check_mode:
        netserver.stop_all(stop)
        netserver.start_all(start)


def converge(module: AnsibleModule) -> dict[str, Any]:
    """Bring the netservers to the wanted state and return the module's result."""
    payload = module.params["payload"]
    wanted = checked(
        module.params["servers"]
        or servers_of(
            module.params["endpoints"] or {},
            module.params["port"] + (network.PAYLOAD_OFFSET if payload else 0),
        ),
        payload,
    )
    before = netserver.known()
    stop, start = netserver.plan(before, wanted, module.params["state"], module.params["purge"])
    change(before, stop, start, module.check_mode)
    running = names(before, [path for path in before if before[path]])
    stopped, started = names(before, stop), sorted(netserver.label(server) for server in start)
    after = sorted((set(running) - set(stopped)) | set(started))
    return {
        "changed": bool(stop or start),
        "servers": after,
        "started": started,
        "stopped": stopped,
        "diff": {"before": "\n".join(running + [""]), "after": "\n".join(after + [""])},
    }


def main() -> None:
    run_module(
        {
            "servers": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "address": {"type": "str", "required": True},
                    "port": {"type": "int", "default": network.NETSERVER_PORT},
                    "netns": {"type": "str"},
                },
            },
            "endpoints": {"type": "dict"},
            "port": {"type": "int", "default": network.NETSERVER_PORT},
            "payload": {"type": "bool", "default": False},
            "purge": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        converge,
    )


if __name__ == "__main__":
    main()
