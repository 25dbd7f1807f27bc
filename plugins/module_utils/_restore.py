# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore a node from its snapshot with nothing but the node; the module restore and the dead man's switch do this."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils import (
    _links,
    _node_state,
    _ovs,
    _packet_sockets,
    _snapshot,
    _vxlan_state,
)
from ansible_collections.offload.lab.plugins.module_utils._apply import apply as apply_steps
from ansible_collections.offload.lab.plugins.module_utils._errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._ethtool_change import (
    apply,
    plan_device,
    read_all,
    report,
    steps_of,
)
from ansible_collections.offload.lab.plugins.module_utils._ethtool_devices import parse_devices
from ansible_collections.offload.lab.plugins.module_utils._ethtool_read import read_rss
from ansible_collections.offload.lab.plugins.module_utils._link_plan import plan as plan_links
from ansible_collections.offload.lab.plugins.module_utils._link_plan import wanted_devices

ROUNDS = 4  # a bit may wait for another one, a queue for its channel: each round sets what has become possible


def _here(items):
    return [item for item in items if _snapshot.exists(item)]


def _links_step(snapshot, dry):
    wanted = wanted_devices(_here(snapshot["links"]))
    links = dict((netns, _links.read(netns)) for netns in set(device["netns"] for device in wanted))
    steps = plan_links(links, wanted)[2]
    if not dry:
        apply_steps(steps)
    return [step["argv"] + step["stdin"].split() for step in steps]


def _devices_step(snapshot, dry):
    """Return ``(commands, {device: what is not as it was})``."""
    devices = parse_devices(_here(snapshot["devices"]))
    states = read_all(devices)
    commands, wrong = [], {}
    for device in devices:
        state = states[device.key]
        plans = plan_device(device, state, True)
        steps = steps_of(device, plans)
        missing = report(device, plans, state, state)["not_honoured"]
        if missing:
            wrong[device.key] = missing
        commands += steps
        if not dry:
            apply(steps)
    return commands, wrong


def _other_step(snapshot, dry):
    other, commands = snapshot["other"], []
    for name in sorted(set(other.get("rss", {})) | set(other.get("rps", {}))):
        if not _snapshot.exists({"name": name}):
            continue
        saved = other.get("rss", {}).get(name)
        step = _node_state.rss_step(name, saved, read_rss(name, None).get("indirection")) if saved else None
        commands += [step] if step else []
        if step and not dry:
            apply([step])
        for path, value in _node_state.rps_writes(name, other.get("rps", {}).get(name, {}), _node_state.read_rps(name)):
            commands.append(["write", path, value])
            if not dry:
                with open(path, "w") as stream:
                    stream.write(value)
    steps = []
    if other.get("vxlan"):
        steps += _vxlan_state.steps(other["vxlan"], *_vxlan_state.read())
    if other.get("ovs"):
        steps += _node_state.ovs_steps(other["ovs"], _node_state.read_ovs())
    commands += [step["argv"] + (step["stdin"] or "").split() for step in steps]
    if not dry:
        apply_steps(steps)
    # A tunnel made anew has a new socket.
    buffers = _node_state.buffer_changes(other.get("ovs", {}).get("buffers", {}), _ovs.port_buffers())
    if buffers and not dry:
        _packet_sockets.set_sizes(_ovs.pid("ovs-vswitchd"), buffers)
    return commands + [["setsockopt", name, "SO_RCVBUF", str(size)] for name, size in buffers.items()]


def restore(path, check_mode=False, keep=False):
    """Set everything as the snapshot has it, read back, and only then remove the snapshot (unless ``keep``).

    Return ``{"exists", "commands", "missing"}``. Raises :class:`LabError` where something is not as it was; then the
    snapshot is kept.
    """
    snapshot = _snapshot.read(path)
    if snapshot is None:
        return {"exists": False, "commands": [], "missing": []}
    gone = [_snapshot.key_of(device) for device in snapshot["devices"] if not _snapshot.exists(device)]
    commands, wrong = [], {}
    for _round in range(ROUNDS):
        links = _links_step(snapshot, check_mode)
        steps, wrong = _devices_step(snapshot, check_mode)
        others = _other_step(snapshot, check_mode)
        commands += links + steps + others
        if check_mode or not links + steps + others:
            break
    else:
        wrong = wrong or {"node": links + steps + others}
    if wrong and not check_mode:
        raise LabError("not everything could be restored, so the snapshot is kept: {0}".format(wrong), path,
                       "Set the rest by hand, then restore again.")
    if not check_mode and not keep:
        _snapshot.remove(path)
    return {"exists": True, "commands": commands, "missing": gone}
