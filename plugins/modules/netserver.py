#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: netserver
short_description: Run the server of an engine on lab addresses only
version_added: 0.1.0
description:
  - Starts one netserver, or the server of another engine, for each address, detached, in the network namespace that has
    the address.
  - A server is bound to its address, never to all addresses of a node.
  - It runs as user C(nobody), without privileges and with limits on memory, files and processes. Where systemd runs, it
    is in a scope with C(MemoryMax) and C(TasksMax).
  - It serves the addresses O(peers), and of these only clients that have the node's token. Before a client is admitted,
    netserver and iperf3 do not run.
  - Its state is kept in C(/run/offload-lab). Before it signals a process, it checks by start time, command
    line and network namespace that it is the one that it started.
  - If another process holds a port, the task fails before it starts anything.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes
  - offload.lab.engine
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
  engine:
    description:
      - Whose server runs. With O(endpoints) V(netperf) listens on O(port), V(payload) 3 ports above it, V(sockets) 4,
        V(iperf3) 1005.
      - A server of V(iperf3) serves one client at a time.
      - V(payload) compares what arrives with what was sent, byte for byte. It is Python alone, as V(sockets) is.
    default: netperf
  each:
    description: With O(endpoints), how many servers each address gets, on ports one after the other, 1 to 1000.
    type: int
    default: 1
  peers:
    description:
      - The addresses from which clients connect, as the server sees them.
      - By default the addresses of all other hosts of the play, as far as their variables and the facts of role
        P(offload.lab.common#role) have them, and C(offload_lab_more_peers).
      - A server that does not know one of them is started again.
    type: list
    elements: str
  with_token:
    description: Whether RV(token) is returned.
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
    peers: [198.18.0.1, 192.168.10.1]

- name: Learn the token that their clients need
  offload.lab.netserver:
    with_token: true
  register: servers
  no_log: true

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
token:
  description: What a client must have. All servers of a node have the same one. Keep it out of logs.
  returned: with O(with_token)
  type: str
  sample: 6a1f0c
stopped:
  description: Those that were stopped, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: []
"""

import itertools
import os
from typing import Any, Dict, Iterable, NamedTuple, Optional

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._base.checks import number
from ..module_utils._base.errors import InputError
from ..module_utils._engines.engines import BY_NAME
from ..module_utils._engines.workload import endpoint
from ..module_utils._host.module import Options, Returned, run_module
from ..module_utils._load import servers as running

Known = Dict[str, Optional[running.State]]  # by state file


class ServersChange(NamedTuple):
    """What is to happen: state files of servers to stop, servers to start, and who may connect."""

    stop: list[str]
    start: list[running.Server]
    access: running.Access


def checked(servers: list[dict[str, Any]], engine: str, count: int) -> list[running.Server]:
    """Return the servers checked, each once; a server listens at ``count`` ports."""
    by_label = {}
    for server in servers:
        end = endpoint(server)
        entry: running.Server = {
            "netns": end["netns"],
            "address": end["address"],
            "port": end["port"],
            "engine": engine,
        }
        if count > 1:
            entry["count"] = count
        by_label[running.label(entry)] = entry
    return list(by_label.values())


def servers_of(endpoints: dict[str, dict[str, Any]], port: int) -> list[dict[str, Any]]:
    """Return the option ``servers`` for the ends of a node's paths."""
    servers = []
    for path in endpoints.values():
        for end in path.get("all") or [path]:
            servers.append({"address": end["address"], "netns": end.get("netns"), "port": port})
    return servers


def checked_peers(peers: Iterable[str]) -> list[str]:
    """Return the addresses of clients, each once."""
    return list(dict.fromkeys(str(network.address(peer, "peers")) for peer in peers))


def names(before: Known, paths: Iterable[str]) -> list[str]:
    """Return what the processes of state files are called; a file whose process is gone goes by its
    own name.
    """
    names: list[str] = []
    for path in paths:
        there = before[path]
        names += running.labels(there["server"]) if there else [os.path.basename(path)]
    return sorted(names)


def carry_out(before: Known, change: ServersChange, check_mode: bool) -> None:
    """Stop and start netservers; those that are stopped do not stand in the way of the others."""
    ours = [running.label(there["server"]) for path in change.stop if (there := before[path])]
    running.require_free(
        [server for server in change.start if running.label(server) not in ours], check_mode
    )
    if not check_mode:
        running.stop_all(change.stop)
        running.start_all(change.start, change.access)


def access_of(params: Options, before: Known, listed: list[running.Server]) -> running.Access:
    """Return who may connect; raise InputError where nobody may."""
    peers = checked_peers(params["peers"] or ())
    if listed and params["state"] == "present" and not peers:
        raise InputError(
            "no address may connect to the servers",
            "peers",
            "Name the addresses of the clients. In a play of several nodes they are known.",
        )
    return running.Access(running.token_of(before.values()), peers)


def converge(module: AnsibleModule) -> Returned:
    """Bring the netservers to the wanted state and return the module's result."""
    params = module.params
    port = params["port"] + BY_NAME[params["engine"]].port_offset
    each = number(params["each"], "each", 1, 1000)
    count = 1 if params["servers"] else each
    servers = params["servers"] or servers_of(params["endpoints"] or {}, port)
    listed = checked(servers, params["engine"], count)
    before = running.known()
    access = access_of(params, before, listed)
    stop, start = running.plan(before, listed, params["state"], params["purge"], access)
    carry_out(before, ServersChange(stop, start, access), module.check_mode)
    alive = names(before, [path for path in before if before[path]])
    stopped = names(before, stop)
    started = sorted(itertools.chain.from_iterable(map(running.labels, start)))
    after = sorted((set(alive) - set(stopped)) | set(started))
    return {
        **({"token": access.token} if params["with_token"] else {}),
        "changed": bool(stop or start),
        "servers": after,
        "started": started,
        "stopped": stopped,
        "diff": {"before": "\n".join(alive + [""]), "after": "\n".join(after + [""])},
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
            "engine": {"type": "str", "choices": list(BY_NAME), "default": "netperf"},
            "each": {"type": "int", "default": 1},
            "peers": {"type": "list", "elements": "str"},
            "with_token": {"type": "bool", "default": False},
            "purge": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        converge,
    )


if __name__ == "__main__":
    main()
