#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: restore
short_description: Restore a node exactly from its snapshot
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Sets what the snapshot of M(offload.lab.snapshot) contains - MTU, features as wanted bits, channels, rings,
    coalescing, receive hashing, the RSS table and all other kinds of settings of devices, and the options of the lab's
    own tunnels, key by key.
  - Reads everything back, sets again what was not possible before, and removes the snapshot only when everything is as
    it was.
  - A device is known by its permanent MAC address, bus address, driver and namespace, not by its name. A renamed device
    is restored under its new name. Another device that has the name now is never changed.
  - Hardware that is gone keeps its part of the snapshot until it is back; a warning says so. A software device, such
    as a veth, has no bus address. When it is gone, its part is forgotten, with a warning.
  - A snapshot from before a reboot is not restored but forgotten, with a warning, because the boot has set the devices.
    Only options of the lab's own tunnels, which Open vSwitch keeps in its database, are restored.
  - When the dead man's switch has restored the node, it reads the node back and sets again what is not as it was.
  - A module that changes settings under a dead man's switch ends first. One that hangs for 2 minutes is an error. The
    node is restored then, too, and its switch goes on.
  - Without a snapshot it does nothing.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  path:
    description: The snapshot, a file of the node.
    type: path
    default: /var/lib/offload-lab/snapshot.json
  disarm:
    description:
      - End the dead man's switch, too, when everything is as it was; also where there was no snapshot.
      - If something could not be restored, the switch stays armed.
    type: bool
    default: false
  listeners:
    description:
      - Stop all servers of the engines and the probe, too, when everything is as it was.
      - They are stopped also where there was no snapshot.
      - For an existing network, where they run for a campaign alone.
      - Without it, O(disarm) stops those that were started since the dead man's switch was armed.
    type: bool
    default: false
  forget_missing:
    description: Forget the part of hardware that is gone, too.
    type: bool
    default: false
  lease:
    description:
      - The campaign that restores its node, as M(offload.lab.dead_man_switch) returns it. When another campaign has the
        node by now, the task fails and restores nothing.
      - Without it the node is restored whoever has it, and with O(disarm) the campaign that has it ends.
    type: str
seealso:
  - module: offload.lab.snapshot
  - module: offload.lab.dead_man_switch
notes:
  - Needs root.
"""

EXAMPLES = r"""
- name: Leave the node as it was found
  offload.lab.restore:

- name: Leave it so and without a dead man's switch
  offload.lab.restore:
    disarm: true
"""

RETURN = r"""
exists:
  description: Whether there was a snapshot.
  returned: success
  type: bool
  sample: true
commands:
  description: The commands that were run, or in check mode those that would be run first, as lists of arguments.
  returned: success
  type: list
  elements: list
  sample: [[ethtool, -K, eth0, tso, "on"]]
missing:
  description: The devices of the snapshot that are gone, by C(name) or C(netns/name).
  returned: success
  type: list
  elements: str
  sample: []
kept:
  description: The devices in RV(missing) whose part stays in the snapshot, because they are hardware.
  returned: success
  type: list
  elements: str
  sample: []
renamed:
  description: The devices that have another name now, by their name in the snapshot.
  returned: success
  type: dict
  sample: {eth0: ens1f0np0}
notes:
  description: What was forgotten, kept or found under another name, as sentences. They are warnings, too.
  returned: success
  type: list
  elements: str
  sample: []
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import daemons
from ..module_utils._host.module import Options, Returned, run_module
from ..module_utils._restore import dead_man, node_lease
from ..module_utils._restore.restore import restore
from ..module_utils._restore.sign_of_life import touch


def to_stop(params: Options) -> list[str]:
    """Return the state files of the servers and probes that end, too."""
    if params["listeners"]:
        return daemons.listeners()
    return dead_man.started_since(dead_man.before_armed()) if params["disarm"] else []


def converge(module: AnsibleModule) -> Returned:
    """Restore the node, alone; return the module's result."""
    if module.params["lease"]:
        node_lease.check_free(module.params["lease"])
    touch()  # the dead man's switch must not begin the same now
    if module.check_mode:
        return carry_out(module)
    try:
        with node_lease.settings_held():
            return carry_out(module)
    except node_lease.BusyError:
        # The switch stays armed, and restores again what that process sets when it goes on.
        restore(module.params["path"], keep=True)
        raise


def carry_out(module: AnsibleModule) -> Returned:
    """Restore the node, and end what is to end with that."""
    params, check_mode = module.params, module.check_mode
    path = params["path"]
    restored = restore(path, check_mode=check_mode, forget_missing=params["forget_missing"])
    for note in restored["notes"]:
        module.warn(note)
    listening = to_stop(params)
    leftovers = dead_man.leftovers() + node_lease.leftovers() if params["disarm"] else []
    if listening and not check_mode:
        daemons.stop_listeners(listening)
    if leftovers and not check_mode:
        # Last: until the node was read back, a controller that dies must not leave it changed.
        dead_man.disarm()
        node_lease.release()
    before = [path] * restored["changed"] + listening + leftovers
    return dict(
        restored,
        changed=bool(before),
        diff={"before": "".join(f"{name}\n" for name in before), "after": ""},
    )


def main() -> None:
    run_module(
        {
            "path": {"type": "path", "default": "/var/lib/offload-lab/snapshot.json"},
            "disarm": {"type": "bool", "default": False},
            "listeners": {"type": "bool", "default": False},
            "forget_missing": {"type": "bool", "default": False},
            "lease": {"type": "str"},
        },
        converge,
    )


if __name__ == "__main__":
    main()
