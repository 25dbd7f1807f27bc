#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open vSwitch running, with the lab's bridge."""

from __future__ import annotations

DOCUMENTATION = r"""
module: switch
short_description: Run Open vSwitch with the bridge of the lab
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Starts Open vSwitch if it does not run, and makes a bridge with the wanted datapath.
  - For the userspace datapath it sets C(other_config:userspace-tso-enable=true) before C(ovs-vswitchd) starts.
    Without it TCP of a tenant with TX checksum offload does not get through.
  - A running C(ovs-vswitchd) is restarted for that setting, unless it runs other bridges, which is an error.
  - The bridge carries C(external_ids:offload-lab=switch). A bridge without this mark is never changed.
  - V(absent) removes the bridge and the setting, and stops Open vSwitch if this module has started it and nobody else
    uses it. If C(ovs-vswitchd) has crashed, it is started first, because only it can remove its devices.
  - Open vSwitch keeps its bridges over a reboot, while tenants in namespaces and VXLAN devices are gone then.
    With O(until_reboot=true) the bridge goes, too.
extends_documentation_fragment:
  - offload.lab.attributes
  - offload.lab.sign_of_life
options:
  bridge:
    description:
      - Name of the bridge.
    type: str
    default: br-int
  datapath:
    description:
      - V(system) is the kernel's datapath, V(netdev) the userspace datapath.
      - V(auto) is V(system) if the kernel has the module C(openvswitch) or can load it, otherwise V(netdev).
    type: str
    choices: [auto, system, netdev]
    default: auto
  service_manager:
    description:
      - What starts and stops Open vSwitch.
      - V(auto) is V(systemd) where it runs and has a unit of Open vSwitch, otherwise V(ovs-ctl).
    type: str
    choices: [auto, systemd, ovs-ctl]
    default: auto
  until_reboot:
    description:
      - Whether the next boot removes the bridge as O(state=absent) does, and the snapshot of a campaign that the reboot
        ended, C(/var/lib/offload-lab/snapshot.json).
      - It does so by a unit of systemd, C(/etc/systemd/system/offload-lab-after-boot.service), which then removes
        itself. There is one on a host. O(state=absent) removes it.
      - Where systemd does not boot the node nothing is written.
      - A bridge to which others have connected ports stays unchanged.
    type: bool
    default: false
  address:
    description:
      - Address of the bridge's own device, with its prefix length. The device is up with it. The empty string takes
        away what this module gave it, and nothing else.
      - The userspace datapath sends the packets of its own tunnels from it, such as Geneve and GRE.
      - Without this option the device does not change.
    type: str
  tag:
    description:
      - With O(address), the VLAN inside the switch in which the device is, 0 to 4095. Without it the device is in all.
    type: int
  state:
    description:
      - Whether the bridge should exist.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: offload.lab.ovs_ports
"""

EXAMPLES = r"""
- name: Make the bridge on the datapath that the host has
  offload.lab.switch:
    bridge: br-int

- name: Make the bridge on the userspace datapath, without a service manager
  offload.lab.switch:
    bridge: br-int
    datapath: netdev
    service_manager: ovs-ctl

- name: Make a bridge that a reboot takes away
  offload.lab.switch:
    bridge: br-int
    until_reboot: true

- name: Give the bridge the address from which Geneve and GRE are sent
  offload.lab.switch:
    bridge: br-int
    datapath: netdev
    address: 192.168.30.1/24
    tag: 20

- name: Remove the bridge, and stop Open vSwitch if the lab has started it
  offload.lab.switch:
    bridge: br-int
    state: absent
"""

RETURN = r"""
datapath:
  description: The datapath of the bridge, V(system) or V(netdev), also for O(state=absent).
  returned: success
  type: str
  sample: netdev
switch:
  description: The switch now, or in check mode after the change.
  returned: success
  type: dict
  contains:
    running:
      description: Whether both daemons run.
      type: bool
      returned: success
    userspace_tso:
      description: Whether TCP segmentation offload of the userspace datapath is on.
      type: bool
      returned: success
    datapath:
      description: The datapath of the bridge; null if there is no bridge.
      type: str
      returned: success
  sample: {"running": true, "userspace_tso": true, "datapath": "netdev"}
bridge_end:
  description: What the bridge's own device has, or in check mode would have.
  returned: where O(address) is given
  type: dict
  contains:
    address:
      description: Its address with the prefix length, the empty string for none.
      type: str
      returned: success
    tag:
      description: Its VLAN inside the switch, or null.
      type: int
      returned: success
    up:
      description: Whether it is up.
      type: bool
      returned: success
  sample: {"address": "192.168.30.1/24", "tag": 20, "up": true}
until_reboot:
  description: Whether the next boot removes the bridge, or in check mode would.
  returned: success
  type: bool
  sample: true
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


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import checks, network
from ..module_utils._base.steps import Step, shown
from ..module_utils._host.module import Returned, result_of, run_module
from ..module_utils._host.privileges import require
from ..module_utils._host.runner import apply
from ..module_utils._iproute import read as iproute
from ..module_utils._ovs import database, switch_plan
from ..module_utils._ovs.switch_plan import (
    BridgeEnd,
    Service,
    SwitchSeen,
    SwitchSummary,
    plan_absent,
    plan_present,
    predict,
    service_of,
    summary,
)
from ..module_utils._restore import after_boot, watched_change


def make(bridge: str, datapath: str, daemons: Service, check_mode: bool) -> Returned:
    """Bring the switch up; return the module's result."""
    state = database.switch_seen()
    steps = plan_present(state, bridge, datapath, daemons)
    if not check_mode:
        database.check_installed()
    return carry_out(bridge, state, steps, predict(state, bridge, datapath), check_mode)


def remove(bridge: str, daemons: Service, check_mode: bool) -> Returned:
    """Remove the switch; return the module's result."""
    state = database.switch_seen()
    steps = plan_absent(state, bridge, daemons)
    return carry_out(bridge, state, steps, predict(state, bridge, None), check_mode)


def carry_out(
    bridge: str, state: SwitchSeen, steps: list[Step], predicted: SwitchSummary, check_mode: bool
) -> Returned:
    """Run the steps except in check mode; return the state before, and the real or predicted one after."""
    before = summary(state, bridge)
    after = predicted if check_mode else before
    if steps and not check_mode:
        apply(steps)
        after = summary(database.switch_seen(), bridge)
    return result_of("switch", before, after, steps)


def end_of(bridge: str) -> BridgeEnd:
    """Return what the device of the bridge has now."""
    link = iproute.read().get(bridge)
    ovs = database.switch_seen()["ovs"]
    if link is None:
        return switch_plan.NOTHING
    return switch_plan.seen(ovs, bridge, link["addresses"], link["up"])


def with_end(
    bridge: str, address: str, tag: int | None, result: Returned, check_mode: bool
) -> Returned:
    """Give the bridge's device an address and a VLAN, and return the module's result with that."""
    after: BridgeEnd = {
        "address": str(network.interface(address, "address")) if address else "",
        "tag": None if tag is None else checks.number(tag, "tag", 0, 4095),
        "up": bool(address),
    }
    before = end_of(bridge)
    steps = switch_plan.plan(bridge, before, after)
    if steps and not check_mode:
        apply(steps)
    result["diff"]["before"]["bridge_end"] = before
    result["diff"]["after"]["bridge_end"] = after
    return {
        **result,
        "changed": result["changed"] or bool(steps),
        "commands": [*result["commands"], *shown(steps)],
        "bridge_end": after,
    }


def at_boot(main: str | None, result: Returned, check_mode: bool) -> Returned:
    """Plan what the next boot does (None: nothing), and return the module's result with that."""
    planned = after_boot.planned()
    if main != planned and not check_mode:
        after_boot.forget()
        if main:
            after_boot.plan(main)
    result["diff"]["before"]["until_reboot"] = bool(planned)
    result["diff"]["after"]["until_reboot"] = bool(main)
    changed = result["changed"] or main != planned
    return {**result, "changed": changed, "until_reboot": bool(main)}


def converge(module: AnsibleModule) -> Returned:
    """Bring the switch to what is wanted; return the module's result."""
    params = module.params
    require(["CAP_NET_ADMIN"])
    bridge = network.device_name(params["bridge"], "bridge")
    datapath = params["datapath"]
    if datapath == "auto":
        datapath = "system" if database.kernel_datapath() else "netdev"
    daemons = service_of(database.unit_of(params["service_manager"]))
    main = None
    if params["state"] == "present":
        result = make(bridge, datapath, daemons, module.check_mode)
        if params["address"] is not None:
            result = with_end(bridge, params["address"], params["tag"], result, module.check_mode)
        if params["until_reboot"]:
            main = after_boot.main_for(bridge, params["service_manager"])
    else:
        result = remove(bridge, daemons, module.check_mode)
    return {**at_boot(main, result, module.check_mode), "datapath": datapath}


def main() -> None:
    run_module(
        {
            "bridge": {"type": "str", "default": "br-int"},
            "datapath": {"type": "str", "default": "auto", "choices": ["auto", "system", "netdev"]},
            "service_manager": {
                "type": "str",
                "default": "auto",
                "choices": ["auto", "systemd", "ovs-ctl"],
            },
            "until_reboot": {"type": "bool", "default": False},
            "address": {"type": "str"},
            "tag": {"type": "int"},
            "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
            **watched_change.OPTIONS,
        },
        watched_change.watching(converge),
    )


if __name__ == "__main__":
    main()
