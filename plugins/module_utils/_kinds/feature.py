# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for a device's features: which bits to change, which cannot be, and what became of them.
Pure.

What a name means and what happens to it, by rule:

* A single bit that is fixed and asked to change is an error, or is reported where the user says so.
* A group (``tso``, ``tx``, ``sg``) changes the bits that can be changed and reports the
  fixed ones that stay otherwise. It is an error only where none can be changed and the group is not
  as asked already: on means that at least one of its bits is on (so ethtool prints the summary),
  off that all are off.
* A bit whose wanted bit is already as asked needs no step, even if the kernel cannot have it active
now.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from .._base.checks import boolean
from .._base.errors import InputError
from .._ethtool.features import (
    Feature,
    Features,
    argument_name,
    group_members,
    is_single,
    resolve,
    resolve_all,
    single_bits,
    wanted,
)
from .kind import (
    Asked,
    Described,
    DeviceKind,
    Expressed,
    Judged,
    KindState,
    NotAsAsked,
    Reader,
    SettingPlan,
    SideEffect,
    Values,
    switch,
)

ON_OFF = {True: "on", False: "off"}
# Bits that a device may lack although it has the other one, which does the work of their group.
VARIANTS = {
    "tx-tcp-ecn-segmentation": "tx-tcp-segmentation",
    "tx-tcp-mangleid-segmentation": "tx-tcp-segmentation",
}
LINK_FILE = {
    "rx-checksumming": "ReceiveChecksumOffload",
    "tx-tcp-segmentation": "TCPSegmentationOffload",
    "tx-tcp6-segmentation": "TCP6SegmentationOffload",
    "generic-segmentation-offload": "GenericSegmentationOffload",
    "generic-receive-offload": "GenericReceiveOffload",
    "large-receive-offload": "LargeReceiveOffload",
}
# Features whose property is not named as the listing of ethtool names them.
CONNECTION_SHORT = {
    "rx-checksumming": "rx",
    "generic-segmentation-offload": "gso",
    "generic-receive-offload": "gro",
    "large-receive-offload": "lro",
    "rx-vlan-offload": "rxvlan",
    "tx-vlan-offload": "txvlan",
    "ntuple-filters": "ntuple",
    "receive-hashing": "rxhash",
}
CONNECTION_SAME = frozenset(
    [
        "esp-hw-offload",
        "esp-tx-csum-hw-offload",
        "fcoe-mtu",
        "highdma",
        "hw-tc-offload",
        "l2-fwd-offload",
        "loopback",
        "macsec-hw-offload",
        "rx-all",
        "rx-fcs",
        "rx-gro-hw",
        "rx-gro-list",
        "rx-udp-gro-forwarding",
        "rx-udp_tunnel-port-offload",
        "rx-vlan-filter",
        "rx-vlan-stag-filter",
        "rx-vlan-stag-hw-parse",
        "tls-hw-record",
        "tls-hw-rx-offload",
        "tls-hw-tx-offload",
        "tx-checksum-fcoe-crc",
        "tx-checksum-ip-generic",
        "tx-checksum-ipv4",
        "tx-checksum-ipv6",
        "tx-checksum-sctp",
        "tx-esp-segmentation",
        "tx-fcoe-segmentation",
        "tx-gre-csum-segmentation",
        "tx-gre-segmentation",
        "tx-gso-list",
        "tx-gso-partial",
        "tx-gso-robust",
        "tx-ipxip4-segmentation",
        "tx-ipxip6-segmentation",
        "tx-nocache-copy",
        "tx-scatter-gather",
        "tx-scatter-gather-fraglist",
        "tx-sctp-segmentation",
        "tx-tcp-ecn-segmentation",
        "tx-tcp-mangleid-segmentation",
        "tx-tcp-segmentation",
        "tx-tcp6-segmentation",
        "tx-tunnel-remcsum-segmentation",
        "tx-udp-segmentation",
        "tx-udp_tnl-csum-segmentation",
        "tx-udp_tnl-segmentation",
        "tx-vlan-stag-hw-insert",
    ]
)


def plan_features(
    requested: Values, before: Features, device: str, report_fixed: bool = False
) -> SettingPlan:
    """Return the plan for the single bits that the names ``requested`` mean.

    ``before`` are the device's features as parsed. Raises :class:`InputError` for a name the device
    does not know, and for a fixed feature asked to change unless ``report_fixed``.
    """
    asked = {name: boolean(value, f"{device}: {name}") for name, value in requested.items()}
    bits = resolve_all(asked, before, device)
    stuck = stuck_bits(bits, before)
    if stuck and not report_fixed:
        for name, value in asked.items():
            members = [bit for bit in resolve(name, before, device) if bits[bit] == value]
            if stuck.intersection(members) and not group_will_do(name, value, members, before):
                raise fixed_error(name, value, device)
    return settle(bits, stuck, before)


def plan_wanted(
    requested: Values, before: Features, device: str, report_fixed: bool = False
) -> SettingPlan:
    """Return the same as :func:`plan_features` for exact wanted bits, as a snapshot holds them;
    groups carry no bit.
    """
    bits = {name: boolean(value, f"{device}: {name}") for name, value in requested.items()}
    unknown = sorted(set(bits) - set(before))
    if unknown:
        raise InputError(
            f"this device and kernel have no feature {unknown[0]!r}",
            device,
            "Take the snapshot again.",
        )
    bits = {name: value for name, value in bits.items() if name in single_bits(before)}
    stuck = stuck_bits(bits, before)
    if stuck and not report_fixed:
        raise fixed_error(sorted(stuck)[0], bits[sorted(stuck)[0]], device)
    return settle(bits, stuck, before)


def stuck_bits(bits: dict[str, bool], before: Features) -> set[str]:
    """Return the bits that are fixed and not as asked."""
    return {
        bit
        for bit, value in bits.items()
        if before[bit]["fixed"] and before[bit]["active"] != value
    }


def group_will_do(name: str, value: bool, members: list[str], before: Features) -> bool:
    """Return whether ``name`` is a group that can be, or is, as asked although some of its bits are
    fixed.
    """
    changeable = any(not before[bit]["fixed"] for bit in members)
    already_on = value and any(before[bit]["active"] for bit in members)
    return not is_single(name, before) and (changeable or already_on)


def fixed_error(name: str, value: bool, device: str) -> InputError:
    """Return the error for a fixed feature that is asked to change."""
    return InputError(
        f"the feature {name!r} is fixed and cannot be turned {ON_OFF[value]}",
        device,
        "Leave it out, or set 'fixed: report' to go on without it.",
    )


def settle(bits: dict[str, bool], stuck: set[str], before: Features) -> SettingPlan:
    """Return the plan for resolved ``bits``, those that are ``stuck`` apart."""
    return {
        "requested": {bit: value for bit, value in bits.items() if bit not in stuck},
        "change": {
            bit: value
            for bit, value in bits.items()
            if bit not in stuck and not before[bit]["fixed"] and wanted(before[bit]) != value
        },
        "fixed": {
            bit: {"asked": bits[bit], "active": before[bit]["active"]} for bit in sorted(stuck)
        },
    }


def feature_steps(change: Mapping[str, bool], name: str) -> list[list[str]]:
    """Return the argument lists that change the features of the device ``name``: one call, to act
    together.
    """
    arguments: list[str] = []
    for bit, value in change.items():
        arguments += [argument_name(bit), ON_OFF[value]]
    return [["ethtool", "-K", name, *arguments]] if change else []


def predict_features(before: Features, change: Mapping[str, bool]) -> Features:
    """Return the features expected after the change; what else may follow from it only the driver
    knows.
    """
    after = before.copy()
    for bit, value in change.items():
        after[bit] = {"active": value, "fixed": before[bit]["fixed"], "requested": None}
    return after


def judge_features(
    plan: SettingPlan, before: Features, after: Features, exact: bool = False
) -> Judged:
    """Return ``(not_honoured, side_effects)``: asked bits that are not as asked, and others that
    changed.

    With ``exact`` it is the wanted bits that have to be as asked, otherwise the active ones.
    """

    def value_of(feature: Feature) -> bool:
        return wanted(feature) if exact else feature["active"]

    not_honoured: dict[str, NotAsAsked] = {
        bit: {"asked": value, "active": after[bit]["active"], "requested": after[bit]["requested"]}
        for bit, value in plan["requested"].items()
        if value_of(after[bit]) != value
    }
    side_effects: dict[str, SideEffect] = {
        bit: {"before": before[bit]["active"], "after": after[bit]["active"]}
        for bit in single_bits(before)
        if bit not in plan["requested"] and before[bit]["active"] != after[bit]["active"]
    }
    return not_honoured, side_effects


def refused_bits(plan: SettingPlan, after: Features) -> dict[str, NotAsAsked]:
    """Return the asked variants of TSO that the device does not take, although it takes TSO itself.

    The kernel shows such a bit as "off [requested on]".
    """
    asked_on = {bit for bit, value in plan["requested"].items() if value}
    return {
        bit: {"asked": True, "active": False, "reason": "the device does not take it"}
        for bit, main in VARIANTS.items()
        if {bit, main} <= asked_on
        and after[main]["active"]
        and not after[bit]["active"]
        and wanted(after[bit])
    }


class FeatureKind(DeviceKind):
    """One offload, or several that go together."""

    name = "feature"
    about = "switches one offload, or a group of them"
    availability = "`ethtool -k`; every kernel and driver lists its own"
    takes = "`off`, `on`"
    levels = ["off", "on"]

    value = staticmethod(switch)

    @property
    def keys(self) -> tuple[str, ...]:
        return ("features", "features_wanted")

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        return reader.read_features(list(devices), netns)

    def described(self, state: Any) -> Described:
        return {
            "features": state,
            "features_wanted": {
                bit: wanted(feature)
                for bit, feature in single_bits(state).items()
                if not feature["fixed"]
            },
            "groups": group_members(state),
        }

    def kept(self, described: Described) -> Values:
        return described.get("features_wanted", {})

    def values(self, state: KindState) -> Values:
        return state

    def plan(self, requested: Asked, state: Any, device: str, report_fixed: bool) -> SettingPlan:
        plan = plan_wanted if requested.get("features_wanted") else plan_features
        return plan(self.asked_of(requested), state, device, report_fixed)

    def steps(self, change: Values, name: str) -> list[list[str]]:
        return feature_steps(change, name)

    def predict(self, state: Any, change: Values) -> KindState:
        return predict_features(state, change)

    def judge(self, plan: SettingPlan, before: Any, after: Any, exact: bool) -> Judged:
        return judge_features(plan, before, after, exact)

    def refused(self, plan: SettingPlan, after: Any) -> dict[str, NotAsAsked]:
        return refused_bits(plan, after)

    def link_file_key(self, setting: str, value: bool) -> Expressed:
        if setting not in LINK_FILE:
            return None
        return LINK_FILE[setting], "true" if value else "false"

    def connection_property(self, setting: str, value: bool) -> Expressed:
        if setting in CONNECTION_SHORT or setting in CONNECTION_SAME:
            return f"ethtool.feature-{CONNECTION_SHORT.get(setting, setting)}", ON_OFF[value]
        return None


FEATURE = FeatureKind()
