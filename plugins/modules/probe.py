#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: probe
short_description: Run the probe that reports a node's CPU counters, features and packet lengths to the other end
version_added: 0.1.0
description:
  - The netperf client needs both ends of a trial in one time window. A probe on the server answers it over TCP with its
    clock, C(/proc/stat), C(/proc/softirqs), active features, and the lengths of packets sampled on a device.
  - The probe reads only and starts no process. Its one request with an effect has the dead man's switch restore the
    node, because the controller is gone.
  - It listens on one address. It answers only requests with a proof, an HMAC with its token as the key. The token is
    new at each start and is never sent. Nobody can use a request again.
  - Every teardown stops it with O(state=absent).
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  state:
    description: Whether the probe should run.
    type: str
    choices: [present, absent]
    default: present
  address:
    description: The lab address that it listens on. It must be an address of this node.
    type: str
    required: true
  port:
    description: The TCP port that it listens on, 1 to 65535.
    type: int
    default: 12866
"""

EXAMPLES = r"""
- name: Start the probe on the underlay address
  offload.lab.probe:
    address: 198.18.0.2
  register: probe
  no_log: true

- name: Stop it
  offload.lab.probe:
    address: 198.18.0.2
    state: absent
"""

RETURN = r"""
token:
  description: The key of the proof that a request must carry. Keep it out of logs.
  returned: when the probe runs
  type: str
  sample: 6a1f0c
pid:
  description: The probe's process.
  returned: when the probe runs
  type: int
  sample: 4242
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._host.module import Returned, run_module
from ..module_utils._observe import probe_process


def converge(module: AnsibleModule) -> Returned:
    """Bring the probe to the wanted state and return the module's result."""
    # An empty one would listen everywhere, and it is part of a path.
    address = str(network.address(module.params["address"], "address"))
    port = network.port(module.params["port"], "port")
    running = probe_process.find(address, port)
    present = module.params["state"] == "present"
    if bool(running) == present or module.check_mode:
        return dict(running or {}, changed=bool(running) != present)
    if present:
        return dict(probe_process.start(address, port), changed=True)
    probe_process.stop(address, port)
    return {"changed": True}


def main() -> None:
    run_module(
        {
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "address": {"type": "str", "required": True},
            "port": {"type": "int", "default": network.PROBE_PORT},
        },
        converge,
    )


if __name__ == "__main__":
    main()
