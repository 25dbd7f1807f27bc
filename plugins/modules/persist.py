#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of devices in the host's own network configuration."""

from __future__ import annotations

DOCUMENTATION = r"""
module: persist
short_description: Write settings of devices into the host's own network configuration
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Writes features, channels, rings, coalescing, receive hashing and all other kinds of settings of devices so that
    they survive a reboot.
    It does not change the devices themselves. M(offload.lab.ethtool) does.
  - It uses the kind of configuration that the host has - properties C(ethtool.*) of the device's connection
    (NetworkManager), a script in C(/etc/network/if-up.d) (ifupdown), or a C(.link) file of systemd, which includes the
    one that udev uses now.
  - Settings that it cannot express, such as tunnel segmentation in a C(.link) file, go into a oneshot unit of systemd,
    and RV(notes) says so. It runs whenever the device appears, so a tunnel that an agent makes again has them again.
  - The originals are kept in O(path), which only root may read. O(state=absent) puts them back.
  - Diff mode shows the lines that the module writes. Of lines that a C(.link) file repeats it shows the keys only, and
    nothing of files that somebody else wrote. Passwords of a host's configuration are never part of a result.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  devices:
    description:
      - Devices and their settings, as M(offload.lab.ethtool) and M(offload.lab.steering) take them.
      - Devices that do not exist are left out. So are devices in network namespaces, and the ports of containers and
        pods, whose names do not come back. RV(notes) names these.
    type: list
    elements: dict
    default: []
  settings:
    description: Instead of O(devices), what the devices of each class in O(classes) are set to.
    type: dict
    default: {}
  classes:
    description: By class a list of devices with C(name) and C(netns), as M(offload.lab.lab_node) returns them.
    type: dict
    default: {}
  method:
    description:
      - The kind of configuration. V(auto) takes, for each device, the one that manages it.
      - The module fails with V(auto) where no device can keep its settings. It changes nothing then.
      - V(none) writes nothing.
    type: str
    choices: [auto, systemd_link, networkmanager, ifupdown, none]
    default: auto
  path:
    description: The file of the originals, on the node.
    type: path
    default: /var/lib/offload-lab/persisted.json
  state:
    description: Whether the settings should be in the host's configuration.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: offload.lab.ethtool
  - module: offload.lab.applied
notes:
  - Needs root.
"""

EXAMPLES = r"""
- name: Keep segmentation on after a reboot
  offload.lab.persist:
    devices:
      - name: eth1
        features: {tso: true, tx-udp_tnl-segmentation: true}

- name: Put the host's configuration back
  offload.lab.persist:
    state: absent
"""

RETURN = r"""
files:
  description: The files that were written or removed, or would be.
  returned: success
  type: list
  elements: str
  sample: [/etc/systemd/network/00-offload-lab-eth1.link]
commands:
  description: The commands that were run, or would be.
  returned: success
  type: list
  elements: list
  sample: [[udevadm, control, --reload]]
methods:
  description: By device the kind of configuration.
  returned: success
  type: dict
  sample: {eth1: systemd_link}
lasting:
  description: How long the settings of the devices last, and what keeps them.
  returned: success
  type: str
  sample: "Set again after a reboot and ...: eth1 (by systemd)."
notes:
  description: What a reader has to know, a sentence each.
  returned: success
  type: list
  elements: str
  sample: ["eth1: offload-lab-eth1.service sets tx-gso-list"]
"""

import json
from typing import Any, Mapping, NamedTuple

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import daemons, files
from ..module_utils._host.module import Options, Returned, run_module
from ..module_utils._host.privileges import require
from ..module_utils._host.runner import run
from ..module_utils._kinds.devices import devices_of_classes
from ..module_utils._persist import host, lasting, own_lines, plan


class Persisting(NamedTuple):
    """What is asked of the host's configuration."""

    devices: dict[str, dict[str, Any]]  # settings
    target: plan.Wanted
    methods: dict[str, str]  # by device the kind of configuration
    left_out: dict[str, str]  # by device why its settings cannot last


def asked_state(params: Options, before: plan.Persisted) -> Persisting:
    """Return what is asked; raise LabError where method auto could keep nothing."""
    if params["state"] == "absent":
        return Persisting({}, plan.together([]), {}, {})
    by_device, left_out = lasting.resolve(
        params["devices"] or devices_of_classes(params["settings"], params["classes"])
    )
    devices = lasting.merge(before["devices"], by_device)
    managers = {name: host.see(name, params["method"]) for name in devices}
    if params["method"] == "auto":
        plan.check_possible({name: managers[name].kind for name in by_device}, left_out)
    parts = [plan.wanted_of(name, devices[name], managers[name]) for name in devices]
    notes = [f"{name}: nothing was written, because {why}" for name, why in left_out.items()]
    target = plan.together([*parts, plan.Wanted({}, {}, notes)])
    return Persisting(devices, target, {name: how.kind for name, how in managers.items()}, left_out)


def shown(files: Mapping[str, str | None]) -> str:
    """Return the text of diff mode for files."""
    return "".join(
        f"# {path}\n{own_lines.shown(path, text)}" for path, text in sorted(files.items()) if text
    )


def properties_now(before: plan.Persisted, target: plan.Wanted) -> plan.Properties:
    """Return the present values of the properties that were set, or are to be."""
    concerned = {uuid: dict(values) for uuid, values in before["properties"].items()}
    for uuid, values in target.properties.items():
        concerned.setdefault(uuid, {}).update(values)
    return host.read_properties(concerned)


def kept_text(after: plan.Persisted) -> str | None:
    """Return the text of the state's file; None where nothing of ours is left."""
    if after["files"] or after["properties"]:
        return json.dumps(after, indent=1, sort_keys=True) + "\n"
    return None


def converge(module: AnsibleModule) -> Returned:
    """Bring the host's configuration to what is wanted; return the module's result."""
    require(["CAP_NET_ADMIN"])
    params = module.params
    before: plan.Persisted = json.loads(host.read_text(params["path"]) or "null") or plan.empty()
    devices, target, methods, left_out = asked_state(params, before)
    texts = {path: host.read_text(path) for path in {*before["files"], *target.files}}
    plan.check_unchanged(before, texts)
    properties = properties_now(before, target)
    after = plan.next_state(before, devices, target, texts, properties)
    changes = plan.file_changes(before, target, texts)
    first, last = plan.steps(changes, plan.property_changes(before, target, properties))
    if not module.check_mode:
        carry_out(params["path"], kept_text(after), changes, first, last)
    connections = "".join(" ".join(argv) + "\n" for argv in last if argv[0] == "nmcli")
    return {
        "changed": bool(changes or first or last),
        "files": sorted(changes),
        "commands": first + last,
        "methods": methods,
        "lasting": plan.lasting(methods, left_out),
        "notes": target.notes,
        "diff": {
            "before": shown({path: texts.get(path) for path in changes}),
            "after": shown(changes) + connections,
        },
    }


def carry_out(
    path: str,
    kept: str | None,
    changes: dict[str, str | None],
    first: list[list[str]],
    last: list[list[str]],
) -> None:
    """Keep the originals, then change; they are forgotten when all of them are back."""
    if kept:
        files.write(path, kept, 0o600)
    for argv in first:
        run(argv)
    for name, text in changes.items():
        host.write_text(name, text)
    for argv in last:
        run(argv)
    if not kept:
        daemons.forget(path)


def main() -> None:
    run_module(
        {
            "devices": {"type": "list", "elements": "dict", "default": []},
            "settings": {"type": "dict", "default": {}},
            "classes": {"type": "dict", "default": {}},
            "method": {
                "type": "str",
                "default": "auto",
                "choices": ["auto", "systemd_link", "networkmanager", "ifupdown", "none"],
            },
            "path": {"type": "path", "default": "/var/lib/offload-lab/persisted.json"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        converge,
    )


if __name__ == "__main__":
    main()
