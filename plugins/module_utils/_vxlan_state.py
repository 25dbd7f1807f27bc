# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's kernel VXLAN devices in a snapshot: some of it is only restored by making a device anew."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils import _links, _ovs, _ovs_ports, _ovs_state
from ansible_collections.offload.lab.plugins.module_utils._vxlan_plan import OURS, must_recreate, plan_present, summary


def read():
    """Return ``(links, {name: forwarding database}, Open vSwitch)``: what :func:`saved` and :func:`steps` take."""
    links = _links.read()
    names = [name for name, link in links.items() if link["kind"] == "vxlan" and link["alias"] == OURS]
    return links, dict((name, _links.read_fdb(name)) for name in names), _ovs.read(missing_ok=True)


def saved(links, fdbs, ovs):
    """Return ``{name: {"device", "bridge", "port"}}`` of the lab's devices; without a port, the last two are None."""
    found = {}
    for name, fdb in fdbs.items():
        port = ovs["ports"].get(name)
        found[name] = {"device": summary(links[name], fdb), "bridge": port["bridge"] if port else None,
                       "port": _ovs_state.summary(port) if port else None}
    return found


def steps(kept, links, fdbs, ovs):
    """Return the steps that make devices anew which differ so, each in its bridge again. One that is gone stays so."""
    found = []
    for name in sorted(set(kept) & set(fdbs)):
        old = kept[name]
        anew = must_recreate(summary(links[name], fdbs[name]), old["device"])
        if anew:
            found += plan_present(links, fdbs[name], ovs, dict(old["device"], name=name))
        # Without its port it may be because a restore before was stopped in between.
        if old["port"] and old["bridge"] in ovs["bridges"] and (anew or name not in ovs["ports"]):
            commands = _ovs_ports.port_commands(old["bridge"], name, None, old["port"])
            found.append(_ovs_state.transaction(commands, wait=ovs["vswitchd"]))
    return found
