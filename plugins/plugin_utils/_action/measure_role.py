# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the variables of role measure say of a campaign and its hosts, as ``_campaign/loop.py`` takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.template import Templar

from ...module_utils._kinds.command_levels import Allowed
from .._campaign.loop import (
    APPLIED,
    TIMESTAMPS,
    Applied,
    ClientFacts,
    HostFacts,
    KeptSnapshot,
    PlanOfVisit,
    RoleOptions,
    VisitStep,
    Work,
    applied_by,
    in_order,
    partners,
)
from .._paths.path import CampaignHost, Devices
from .controller import TaskVars


class MeasureRole:
    """The variables of one host, and the variables of the others.

    What the role registers is data. What users set may be a template.
    """

    def __init__(self, templar: Templar, task_vars: TaskVars) -> None:
        self.templar = templar
        self.variables = task_vars
        self.name: str = task_vars["inventory_hostname"]
        self.member: CampaignHost = task_vars["__offload_lab_kept"]
        self.playing: list[str] = task_vars["ansible_play_hosts"]

    def _option(self, name: str, default: object = None) -> Any:
        return self.templar.template(self.variables.get(f"offload_lab_{name}", default))

    def options(self) -> RoleOptions:
        """Return what the role was asked for."""
        datapath = self._option("datapath_active", "")
        return RoleOptions(
            port=int(self._option("netperf_port")),
            probe_port=int(self._option("probe_port")),
            evidence_seconds=float(self._option("evidence_seconds")),
            vxlan_port=int(self._option("vxlan_port")),
            vni=int(self._option("vni")),
            tenant_vlan=int(self._option("tenant_vlan") or 0),
            uplink=str(self._option("uplink_device")),
            tunnel_by_uplink=datapath == "netdev" and self._option("tunnel_type") != "vxlan",
            protect=self._option("protected_devices"),
            allow_management_device=self._option("allow_management_device"),
            commands=Allowed(
                self.name, self._option("commands", {}), self._option("allow_commands", [])
            ),
        )

    def planned(self) -> PlanOfVisit:
        """Return the plan, with the profiles that were decided since."""
        plan = self.variables["offload_lab_plan"]
        profiles = dict(plan["profiles"])
        for name in ("__offload_lab_searched", "__offload_lab_confirmation"):
            profiles.update(self.variables.get(name, {}).get("profiles") or {})
        return PlanOfVisit(
            plan_file=plan["plan_file"],
            record=plan["record"],
            design=plan["design"],
            tests=plan["tests"],
            chunk_s=plan["chunk_s"],
            profiles=profiles,
            homes=plan["homes"],
            forwarder=plan["forwarder"],
        )

    def work(self, step: VisitStep) -> Work:
        """Return a step with what is the same for all hosts."""
        return Work(self.planned(), self.options(), step)

    def conditions(self) -> ClientFacts:
        """Return what the manifest says of this host."""
        read = self.variables["__offload_lab_conditions"]
        speeds = [link.get("speed_mbps") for link in read["links"].values()]
        timestamps = str(read["host"]["sysctls"].get(TIMESTAMPS, "1"))
        return ClientFacts(timestamps != "0", (speeds or [0])[0] or 0)

    def snapshot(self) -> KeptSnapshot:
        """Return the snapshot of this host."""
        kept = self.variables["__offload_lab_snapshot"]
        lease = self.variables.get("__offload_lab_lease", {}).get("lease") or ""
        return KeptSnapshot(kept["path"], kept.get("devices", ()), lease)

    def _of(self, host: str, name: str) -> Any:
        return self.variables["hostvars"][host].get(name)

    def applied(self, host: str) -> Applied | None:
        """Return what was set at a host, None where it does not have the newest profile."""
        return applied_by(self._of(host, APPLIED) or {})

    def partners(self) -> list[str]:
        """Return the partners that this host can measure with."""
        return partners(self.member, in_order({name: self.applied(name) for name in self.playing}))

    def devices(self) -> Devices:
        """Return the devices of this host by class."""
        devices: Devices = self._of(self.name, "offload_lab_devices")
        return devices

    def host(self, name: str, applied: Mapping[str, Applied | None]) -> HostFacts:
        """Return what measuring needs to know of a host."""
        probe = self._of(name, "__offload_lab_probe") or {}
        servers = self._of(name, "__offload_lab_servers") or {}
        return HostFacts(
            name=name,
            devices=self._of(name, "offload_lab_devices"),
            endpoints=self._of(name, "offload_lab_endpoints") or {},
            address=self._of(name, "offload_lab_underlay_address") or "",
            probe_token=probe.get("token", ""),
            servers_token=servers.get("token", ""),
            applied=applied.get(name),
        )
