# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what a virtual machine finds on its disk: its name, its devices, and who may log in."""

from __future__ import annotations

from typing import Any, Mapping

from .names import MANAGEMENT, mac_of

# What QEMU's user networking gives to the first guest; it reaches nothing, and only SSH gets in.
ADDRESS = "10.0.2.15/24"
NETWORKS = "/etc/systemd/network"


def files_of(lab: str, machine: Mapping[str, Any]) -> dict[str, str]:
    """Return ``{path in the machine: text}``: devices are named by MAC address; their order is by
    chance.
    """
    files = {
        "/etc/hostname": machine["name"] + "\n",
        "/etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {machine['name']}\n",
    }
    nics = [{"name": MANAGEMENT, "address": ADDRESS, "mtu": 1500}, *machine["nics"]]
    for nic in nics:
        link = f"[Match]\nMACAddress={mac_of(lab, machine['name'], nic['name'])}\n\n[Link]\nName={nic['name']}\n"
        files[f"{NETWORKS}/10-{nic['name']}.link"] = f"{link}MTUBytes={nic['mtu']}\n"
        address = f"Address={nic['address']}\n" if nic["address"] else ""
        files[f"{NETWORKS}/10-{nic['name']}.network"] = (
            f"[Match]\nName={nic['name']}\n\n[Network]\n{address}LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
        )
    return files


def written(sources: Mapping[str, str]) -> str:
    """Return what debugfs does to write files, ``{path in the machine: file here}``, each for root
    alone.
    """
    lines = ["mkdir /root/.ssh", "set_inode_field /root/.ssh mode 040700"]
    for path, source in sources.items():
        lines += [f"rm {path}", f"write {source} {path}"]
        lines += [f"set_inode_field {path} {field}" for field in ("uid 0", "gid 0")]
        private = path.startswith("/root/") or path.endswith("_key")
        lines.append(f"set_inode_field {path} mode {'0100600' if private else '0100644'}")
    return "\n".join(lines) + "\n"
