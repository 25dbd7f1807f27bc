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
  - Reads how devices are set, as M(offload.lab.ethtool_info) returns it in C(restore), and their MTU, and writes it to
    a file of the node. The file is on the disk when the task ends.
  - Devices in the file are never replaced, because the node may have been changed since. Only new devices are added.
  - With each device it keeps its index, permanent and current MAC address, bus address and driver, by which
    M(offload.lab.restore) finds it. It keeps the boot, too. A file of an earlier boot is forgotten, with a warning.
  - With the first devices it keeps the options of the lab's own tunnels, too. They are in RV(other). Ports of others
    and C(other_config) of Open vSwitch are not kept.
  - M(offload.lab.restore) restores it.
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
      - The devices whose state to keep. An item is a name, or a dictionary with the keys C(name) and C(netns).
      - Without them the file is only read.
    type: list
    elements: raw
    default: []
  missing:
    description: What to do when a device does not exist.
    type: str
    choices:
      error: Fail.
      skip: Leave it out.
    default: error
  other:
    description: Other things to restore, by name.
    type: dict
    default: {}
  state:
    description: Whether the snapshot should exist. Use V(absent) when the node has been restored.
    type: str
    choices: [present, absent]
    default: present
notes:
  - Needs root where the default path is used.
"""

EXAMPLES = r"""
- name: Keep how two devices are set
  offload.lab.snapshot:
    devices:
      - eth0
      - name: tenant1-veth0
        netns: tenant1

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
path:
  description: The O(path).
  returned: success
  type: str
  sample: /var/lib/offload-lab/snapshot.json
devices:
  description: The devices of the snapshot that are there now, in the form that M(offload.lab.ethtool) takes.
  returned: success
  type: list
  elements: dict
  sample: [{name: eth0, features_wanted: {tx-tcp-segmentation: true}}]
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

from ..module_utils._base import network
from ..module_utils._host.module import Options, Returned, run_module
from ..module_utils._kinds.devices import MISSING
from ..module_utils._restore import identity, restore, settings, sign_of_life, snapshot


def wanted(before: snapshot.Snapshot | None, params: Options) -> snapshot.Snapshot | None:
    """Return what the file is to have; None where it is to be gone."""
    devices = settings.read_settings(params["devices"], params["missing"])
    settings.check_commands(devices)
    other = params["other"]
    if devices and not {"ovs", "vxlan"} <= set(before["other"] if before else ()):
        other = {**restore.read_other(), **other}
    if params["state"] == "absent":
        return None
    return snapshot.merge(before, devices, other) if devices or other else before


def of_this_boot(before: snapshot.Snapshot | None) -> snapshot.Snapshot | None:
    """Return what of a snapshot still holds; None for nothing."""
    current = snapshot.of_this_boot(before) if before else None
    return current if current and (current["devices"] or current["other"]) else None


def keep(path: str, state: snapshot.Snapshot | None) -> None:
    """Write the snapshot, or remove its file."""
    if state:
        snapshot.write(path, state)
    else:
        snapshot.remove(path)


def names(state: snapshot.Snapshot | None) -> str:
    """Return the text of diff mode: the devices of a snapshot, a line each."""
    keys = map(network.key_of, state["devices"]) if state else ()
    return "".join(key + "\n" for key in sorted(keys))


def converge(module: AnsibleModule) -> Returned:
    """Bring the snapshot to the wanted state and return the module's result."""
    sign_of_life.touch()
    path = module.params["path"]
    before = snapshot.read(path)
    note = snapshot.forgotten(before)
    if note:
        module.warn(note)
    after = wanted(of_this_boot(before), module.params)
    if after != before and not module.check_mode:
        keep(path, after)
    shown = after or before or snapshot.empty()
    devices = identity.resolve(shown["devices"])
    links = identity.resolve(shown["links"]).items
    return {
        "changed": after != before,
        "path": path,
        "exists": after is not None,
        "devices": identity.plain(devices.items),
        "links": identity.plain(links),
        "other": shown["other"],
        "missing": sorted(map(network.key_of, devices.gone)),
        "diff": {"before": names(before), "after": names(after)},
    }


def main() -> None:
    run_module(
        {
            "path": {"type": "path", "default": "/var/lib/offload-lab/snapshot.json"},
            "devices": {"type": "list", "elements": "raw", "default": []},
            "missing": MISSING,
            "other": {"type": "dict", "default": {}},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        converge,
    )


if __name__ == "__main__":
    main()
