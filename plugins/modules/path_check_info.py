#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: path_check_info
short_description: Check that paths carry traffic before they are measured
version_added: 0.1.0
description:
  - Sends 20 echo requests over each path, of the size of its device's MTU and with DF set, then TCP for the shortest
    time that the engine can measure, 0.25 s or 1 s.
  - The task fails and names the path when more than 5 % of the echo requests are lost or netperf does not get through.
  - It does nothing in check mode, because it sends traffic.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.info
  - offload.lab.engine.streaming
options:
  paths:
    description: The paths, seen from this node.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: The name of the path in messages.
        type: str
        required: true
      address:
        description: The address of the other end.
        type: str
        required: true
      netns:
        description: The network namespace in which the path begins, by default the node's own.
        type: str
  port:
    description: TCP port of the netserver at the other end.
    type: int
    default: 12865
  engine:
    description: The engine that makes the TCP stream.
    default: netperf
  token:
    description: The token of the servers, which M(offload.lab.netserver) returns.
    type: str
  stream:
    description:
      - Whether echoes of the size of the MTU and the stream must get through.
      - Without it no path is refused. A check of the payload finds out what gets through, and a warning names each
        path on which no echo request is answered.
    type: bool
    default: true
seealso:
  - module: offload.lab.netperf
"""

EXAMPLES = r"""
- name: Check that the paths carry traffic
  offload.lab.path_check_info:
    paths:
      - name: physical
        address: 198.18.0.2
      - name: tenant_vxlan
        address: 192.168.10.2
        netns: tenant1
"""

RETURN = r"""
paths:
  description:
    - Each path with the MTU of its device, the echoes that were lost and the rate of the stream, which is null without
      O(stream).
  returned: success
  type: list
  elements: dict
  sample: [{path: physical, lost_percent: 0, mbit_s: 9412.5}]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._engines.engines import STREAMING
from ..module_utils._host.module import Returned, run_module
from ..module_utils._preflight import path


def gather(module: AnsibleModule) -> Returned:
    """Return what each path carries."""
    options = [] if module.check_mode else module.params["paths"]
    token = module.params["token"] or ""
    how = (module.params["port"], module.params["engine"], module.params["stream"], token)
    paths = [path.check(item, *how) for item in options]
    for carries in paths:
        if carries["lost_percent"] == path.ALL_LOST:
            module.warn(
                f"path {carries['path']} to {carries['address']}: no echo request is answered. "
                "The check of the payload begins all the same."
            )
    return {"changed": False, "paths": paths}


def main() -> None:
    run_module(
        {
            "paths": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "name": {"type": "str", "required": True},
                    "address": {"type": "str", "required": True},
                    "netns": {"type": "str"},
                },
            },
            "port": {"type": "int", "default": network.NETSERVER_PORT},
            "engine": {
                "type": "str",
                "choices": STREAMING,
                "default": "netperf",
            },
            "token": {"type": "str", "no_log": True},
            "stream": {"type": "bool", "default": True},
        },
        gather,
    )


if __name__ == "__main__":
    main()
