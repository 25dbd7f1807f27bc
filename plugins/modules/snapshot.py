#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: snapshot
short_description: Keep the state of a node on its disk until it is restored
version_added: 0.1.0
description:
  - Writes the settings of devices, as M(offload.lab.ethtool_info) returns them in C(restore), and their MTU to a file
    of the node. The file is on the disk when the task ends.
  - What is in the file already is never replaced, because the node may have been changed since. Only devices that it
    lacks are added.
  - With the first devices it keeps their RSS tables and receive packet steering, and Open vSwitch's C(other_config) and
    options of tunnels too; they are in RV(other).
  - Restoring is done by M(offload.lab.restore).
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes
options:
  path:
    description: The file on the node.
    type: path
    default: /var/lib/offload-lab/snapshot.json
  devices:
    description:
      - Devices and their settings, each with C(name) and, inside a namespace, C(netns).
      - None reads the file only.
    type: list
    elements: dict
    default: []
  other:
    description: Whatever else is to be restored, by name.
    type: dict
    default: {}
  state:
    description: Whether there is a snapshot. Set it to V(absent) when the node has been restored.
    type: str
    choices: [present, absent]
    default: present
notes:
  - Needs root where the default path is used.
"""

EXAMPLES = r"""
- name: Read how the devices are set
  offload.lab.ethtool_info:
    devices: [eth0]
  register: before

- name: Keep it
  offload.lab.snapshot:
    devices: "{{ before.restore }}"

- name: Read the snapshot, perhaps of an earlier run
  offload.lab.snapshot:
  register: kept

- name: Forget the snapshot
  offload.lab.snapshot:
    state: absent
"""

RETURN = r"""
exists:
  description: Whether there is a snapshot after the task, or would be in check mode.
  returned: success
  type: bool
  sample: true
devices:
  description: The devices of the snapshot that are there now, in the form of O(devices).
  returned: success
  type: list
  elements: dict
  sample: [{name: eth0, netns: null, features_wanted: {tx-tcp-segmentation: true}}]
missing:
  description: The devices of the snapshot that are gone, by C(name) or C(netns/name).
  returned: success
  type: list
  elements: str
  sample: []
links:
  description: The MTU of these devices in bytes, in the form that M(offload.lab.link) takes.
  returned: success
  type: list
  elements: dict
  sample: [{name: eth0, netns: null, mtu: 1500}]
other:
  description: What else is in the snapshot.
  returned: success
  type: dict
  sample: {}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.offload.lab.plugins.module_utils import _node_state, _snapshot
from ansible_collections.offload.lab.plugins.module_utils._errors import LabError


def run(module):
    """Bring the snapshot to the wanted state and return the module's result."""
    path, wanted = module.params["path"], module.params["state"] == "present"
    _snapshot.check_devices(module.params["devices"])
    before = _snapshot.read(path)
    devices, other = module.params["devices"], module.params["other"]
    if devices and before is None:
        other = dict(_node_state.read([device for device in devices if _snapshot.exists(device)]), **other)
    after = _snapshot.merge(before, devices, other) if devices or other else before
    after = after if wanted else None
    if after != before and not module.check_mode:
        if after:
            _snapshot.write(path, after)
        else:
            _snapshot.remove(path)
    shown = after or before or {"devices": [], "links": [], "other": {}}
    here = [device for device in shown["devices"] if _snapshot.exists(device)]
    links = [link for link in shown["links"] if _snapshot.exists(link)]
    names = [[_snapshot.key_of(device) for device in state["devices"]] if state else [] for state in (before, after)]
    return {"changed": after != before, "exists": after is not None, "devices": here, "links": links,
            "other": shown["other"],
            "missing": sorted(set(map(_snapshot.key_of, shown["devices"])) - set(map(_snapshot.key_of, here))),
            "diff": dict(zip(("before", "after"), ("\n".join(sorted(part) + [""]) for part in names)))}


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": "/var/lib/offload-lab/snapshot.json"},
            "devices": {"type": "list", "elements": "dict", "default": []},
            "other": {"type": "dict", "default": {}},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**run(module))
    except LabError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg="{0}: {1}".format(module.params["path"], error.strerror or error))


if __name__ == "__main__":
    main()
