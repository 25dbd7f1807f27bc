#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make and remove the virtual machines of a lab."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machines
short_description: Make and remove the virtual machines of a lab
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Makes nodes that are QEMU virtual machines on the machine it runs on. Each has its own kernel, so that a lab has the
    kernel datapath of Open vSwitch and drivers of real network cards without hardware.
  - SSH reaches a machine as root, at a port of 127.0.0.1. Through its device C(management0) a machine reaches nothing.
  - A Linux bridge in the network namespace C(LAB-fabric) connects the other devices of all machines, and nothing else.
    A device can be in another namespace instead, such as a node's, where other devices connect it.
  - Keys, disks and consoles are in O(folder). Nothing else on this machine is changed.
  - A machine whose options have changed is recreated. One that was killed is started again with its disk.
  - The module does not wait until a machine has booted. M(ansible.builtin.wait_for_connection) does.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  name:
    description:
      - Name of the lab.
      - 1 to 40 letters, digits, hyphens and underscores.
    type: str
    default: machines
  folder:
    description:
      - Absolute path of a folder for this lab alone. It is made, and removed with the last machine.
      - It contains C(key), the private key for SSH as root, and C(MACHINE/console), what a machine printed.
    type: path
    required: true
  accel:
    description:
      - How QEMU runs the machines that are started now.
      - V(auto) is KVM if a test kernel boots with it, otherwise V(tcg), emulation without KVM.
      - V(kvm) fails if no kernel boots with it.
    type: str
    choices: [auto, kvm, tcg]
    default: auto
  machines:
    description:
      - The machines.
      - Other machines of the lab are left as they are.
      - For O(state=absent) only their names count, and an empty list means every machine of the lab.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Host name, 1 to 12 lowercase letters, digits and hyphens, starting with a letter.
        type: str
        required: true
      image:
        description:
          - Folder with C(root.ext4), C(vmlinuz) and C(initrd.img), as the role P(offload.lab.machines#role) makes it.
        type: path
        required: true
      kernel:
        description:
          - Folder with another C(vmlinuz) and C(initrd.img) that boot the image's C(root.ext4).
          - The initramfs must have the driver of the disk, C(virtio_blk). The image has no modules of this kernel.
        type: path
      port:
        description: TCP port of 127.0.0.1 for SSH.
        type: int
        required: true
      cpus:
        description: Number of its CPUs.
        type: int
        default: 1
      memory:
        description: Its memory, MiB.
        type: int
        default: 1024
      nics:
        description: Its devices besides C(management0).
        type: list
        elements: dict
        required: true
        suboptions:
          name:
            description: Name in the machine. C(eth0) and the like are names that the kernel gives, and are refused.
            type: str
            default: underlay0
          model:
            description: What QEMU emulates. C(igb) needs QEMU 8.0.
            type: str
            choices: [virtio-net-pci, e1000e, igb, vmxnet3]
            default: virtio-net-pci
          queues:
            description:
              - Pairs of queues, more than 1 with C(virtio-net-pci) only. A machine uses as many as it has CPUs.
            type: int
            default: 1
          vhost:
            description:
              - Whether the kernel of this machine moves the device's packets, instead of QEMU. With C(virtio-net-pci)
                only, and where C(/dev/vhost-net) is there.
            type: bool
            default: false
          properties:
            description:
              - More properties of QEMU's device, such as C(rss). C(qemu-system-x86_64 -device MODEL,help) lists them.
            type: dict
            default: {}
          address:
            description: Its address with the prefix length. By default it has none.
            type: str
          mtu:
            description: Its MTU, bytes.
            type: int
            default: 1500
          netns:
            description:
              - The network namespace of the device's other end, a tap with the name of the machine and the number of
                the device, such as C(guest1-0). Something there connects it, such as a switch.
              - By default it is on the bridge of the machines. Where the namespace was recreated, O(state=present)
                starts the machine again.
            type: str
  state:
    description:
      - V(present) makes the machines and starts them, V(absent) ends and removes them without a shutdown.
      - With the last machine of a lab its folder and its network are removed too.
    type: str
    choices: [present, absent]
    default: present
notes:
  - It must run as root, on the machine itself, an x86-64 one, with C(qemu-system-x86), C(e2fsprogs), C(openssh-client)
    and C(iproute2).
  - After a reboot of this machine, O(state=present) starts the machines again.
seealso:
  - module: offload.lab.nodes
"""

EXAMPLES = r"""
- name: Start two machines
  offload.lab.machines:
    folder: /var/lib/offload-lab-machines
    machines:
      - name: node1
        image: /var/cache/offload-lab/machines/bookworm
        port: 22081
        nics:
          - address: 198.18.0.1/24
      - name: node2
        image: /var/cache/offload-lab/machines/bookworm
        port: 22082
        nics:
          - address: 198.18.0.2/24
            model: vmxnet3

- name: Start a tenant of a node of the single-host lab, at its tap guest1-0
  offload.lab.machines:
    name: guests
    folder: /var/lib/offload-lab-guests
    machines:
      - name: guest1
        image: /var/cache/offload-lab/machines/bookworm
        port: 22181
        nics:
          - name: tenant0
            address: 192.168.10.101/24
            mtu: 8950
            netns: lab-node1

- name: Remove all machines of the lab
  offload.lab.machines:
    folder: /var/lib/offload-lab-machines
    state: absent
"""

RETURN = r"""
machines:
  description: The machines, only O(machines) if it was given, in their present or (check mode) planned state.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the machine.
      type: str
      returned: success
      sample: node1
    running:
      description: Whether its QEMU runs.
      type: bool
      returned: success
      sample: true
    accel:
      description: How QEMU runs it, C(kvm) or C(tcg). In check mode the O(accel) that was asked for.
      type: str
      returned: success
      sample: tcg
    port:
      description: TCP port of 127.0.0.1 for SSH.
      type: int
      returned: success
      sample: 22081
started:
  description: The machines that were started, or would be.
  returned: success
  type: list
  elements: str
  sample: [node1]
stopped:
  description: The machines whose QEMU was ended, or would be.
  returned: success
  type: list
  elements: str
  sample: []
commands:
  description: The commands that were run before the machines were started, or would be.
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
  sample: [{"argv": ["ip", "-batch", "-"], "stdin": "netns add machines-fabric\n"}]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.lease import lock_labs
from ..module_utils._host.module import Returned, result_of, run_module
from ..module_utils._host.privileges import require
from ..module_utils._host.runner import apply
from ..module_utils._machines import qemu
from ..module_utils._machines.machine import MODELS, validate
from ..module_utils._machines.machine_steps import (
    MachinePlan,
    MachinesState,
    plan_absent,
    plan_present,
    predict,
    summary,
)
from ..module_utils._machines.qemu import read_state, require_files

NIC_SPEC = {
    "name": {"type": "str", "default": "underlay0"},
    "model": {"type": "str", "default": MODELS[0], "choices": list(MODELS)},
    "queues": {"type": "int", "default": 1},
    "vhost": {"type": "bool", "default": False},
    "properties": {"type": "dict", "default": {}},
    "address": {"type": "str"},
    "mtu": {"type": "int", "default": 1500},
    "netns": {"type": "str"},
}
MACHINE_SPEC = {
    "name": {"type": "str", "required": True},
    "image": {"type": "path", "required": True},
    "kernel": {"type": "path"},
    "port": {"type": "int", "required": True},
    "cpus": {"type": "int", "default": 1},
    "memory": {"type": "int", "default": 1024},
    "nics": {"type": "list", "elements": "dict", "required": True, "options": NIC_SPEC},
}


def carry_out(lab: str, folder: str, plan: MachinePlan, before: MachinesState, choice: str) -> None:
    """Do what is planned."""
    accel = qemu.accelerator(choice, plan.start[0]["image"]) if plan.start else ""
    qemu.stop(plan.stop, before)
    apply(plan.steps)
    if plan.start:
        qemu.write_known_hosts(folder)
    for machine in plan.start:
        qemu.start(lab, folder, machine, accel)


def converge(module: AnsibleModule) -> Returned:
    """Bring the machines to what is wanted; return the module's result."""
    lab = module.params["name"]
    folder = module.params["folder"]
    present = module.params["state"] == "present"
    accel = module.params["accel"]
    machines = validate(lab, folder, module.params["machines"])
    names = [machine["name"] for machine in machines]
    require(["CAP_NET_ADMIN", "CAP_SYS_ADMIN"], to_do="Run the playbook with sudo, or as root.")
    if present:
        require_files(machines)
    lock_labs()
    before = read_state(lab, folder)
    plan = (
        plan_present(lab, folder, machines, before)
        if present
        else plan_absent(lab, folder, names, before)
    )
    if not module.check_mode:
        carry_out(lab, folder, plan, before, accel)
    was = summary(before, names)
    now = predict(was, machines, accel, plan) if present else []
    if present and not module.check_mode:
        now = summary(read_state(lab, folder), names)
    started = [machine["name"] for machine in plan.start]
    result = result_of("machines", was, now, plan.steps, started=started, stopped=plan.stop)
    return {**result, "changed": any(plan)}


def main() -> None:
    run_module(
        {
            "name": {"type": "str", "default": "machines"},
            "folder": {"type": "path", "required": True},
            "accel": {"type": "str", "default": "auto", "choices": ["auto", "kvm", "tcg"]},
            "machines": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": MACHINE_SPEC,
            },
            "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        },
        converge,
    )


if __name__ == "__main__":
    main()
