# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of module ethtool: read all devices, plan all, and only then change; the result for each
device.
"""

from __future__ import annotations

from typing import Any, Iterable

from .._base.errors import InputError
from .._base.steps import Step
from .._host.runner import CommandResult
from .devices import Device
from .driver import failure_reason
from .features_plan import (
    Plan,
    feature_steps,
    judge_features,
    plan_features,
    plan_wanted,
    predict_features,
)
from .read import (
    check_netns,
    read_features,
    read_flow_hash,
    read_settings,
)
from .settings_plan import (
    check_flow_types,
    judge_setting,
    plan_setting,
    predict_setting,
    setting_steps,
)

# The order of the changes: a new number of channels resets what the others rest on.
KINDS = ("channels", "rings", "coalesce", "rx_flow_hash", "features")


def asks(device: Device, kind: str) -> Any:
    """Return what is asked of a device in one kind, or None; exact feature bits are of the kind
    features.
    """
    if kind == "features":
        return device.asked.get("features") or device.asked.get("features_wanted")
    return device.asked.get(kind)


def read_all(devices: list[Device]) -> dict[str, dict[str, Any]]:
    """Return ``{key: {kind: state}}``: the features of every device, and the other kinds that are
    asked for.
    """
    states: dict[str, dict[str, Any]] = {device.key: {} for device in devices}
    for netns in sorted({device.netns or "" for device in devices}):
        check_netns(netns)
        members = [device for device in devices if (device.netns or "") == netns]
        features = read_features([device.name for device in members], netns)
        for device in members:
            states[device.key]["features"] = features[device.name]
        for kind in ("channels", "rings", "coalesce"):
            asking = [device for device in members if asks(device, kind)]
            settings = read_settings(kind, [device.name for device in asking], netns)
            for device in asking:
                states[device.key][kind] = settings[device.name]
    for device in devices:
        if asks(device, "rx_flow_hash"):
            check_flow_types(device.asked["rx_flow_hash"], device.key)
            states[device.key]["rx_flow_hash"] = read_flow_hash(
                device.name, list(device.asked["rx_flow_hash"]), device.netns
            )
    return states


def plan_device(device: Device, state: dict[str, Any], report_fixed: bool) -> dict[str, Plan]:
    """Return ``{kind: plan}`` of one device; raises :class:`InputError` for what it cannot do."""
    plans = {}
    for kind in KINDS:
        if kind == "features" and device.asked.get("features_wanted"):
            plans[kind] = plan_wanted(
                device.asked["features_wanted"], state[kind], device.key, report_fixed
            )
        elif kind == "features" and asks(device, kind):
            plans[kind] = plan_features(
                device.asked["features"], state[kind], device.key, report_fixed
            )
        elif asks(device, kind):
            plans[kind] = plan_setting(
                kind, device.asked[kind], state[kind], device.key, report_fixed
            )
    return plans


def steps_of(device: Device, plans: dict[str, Plan]) -> list[Step]:
    """Return the steps that carry out the plans of one device.

    They go on after a failure: reading back shows what acted and what did not; the exit status does
    not.
    """
    steps: list[Step] = []
    for kind, plan in plans.items():
        make = (
            feature_steps(plan["change"], device.name)
            if kind == "features"
            else setting_steps(kind, plan["change"], device.name)
        )
        steps.extend(Step(argv, netns=device.netns, check=False) for argv in make)
    return steps


def check_protected(
    devices: Iterable[Device], steps: dict[str, list[Step]], protect: Iterable[str]
) -> None:
    """Raise :class:`InputError` if a device that the user protects would be changed."""
    for device in devices:
        if device.key in protect and steps[device.key]:
            raise InputError(
                "is protected and would be changed",
                device.key,
                "Leave it out of 'devices', or out of 'protect' if you mean to change it.",
            )


def failures(results: Iterable[CommandResult]) -> list[dict[str, Any]]:
    """Return ``[{"cmd", "rc", "reason"}]`` of the results that ethtool says failed."""
    return [
        {"cmd": result.argv, "rc": result.rc, "reason": failure_reason(result.err, result.out)}
        for result in results
        if result.rc != 0
    ]


def predict(state: dict[str, Any], plans: dict[str, Plan]) -> dict[str, Any]:
    """Return the state of one device that check mode expects."""
    predicted = dict(state)
    for kind, plan in plans.items():
        expect = predict_features if kind == "features" else predict_setting
        predicted[kind] = expect(state[kind], plan["change"])
    return predicted


def report(
    device: Device, plans: dict[str, Plan], before: dict[str, Any], after: dict[str, Any]
) -> dict[str, Any]:
    """Return the result for one device: by kind what was, what is, and what is not as asked."""
    result: dict[str, dict[str, Any]] = {
        "before": {},
        "after": {},
        "not_honoured": {},
        "side_effects": {},
        "fixed": {},
    }
    for kind, plan in plans.items():
        if kind == "features":
            exact = "features_wanted" in device.asked
            old, new = before[kind], after[kind]
            not_honoured, side_effects = judge_features(plan, old, new, exact)
        else:
            old, new = before[kind].get("current", {}), after[kind].get("current", {})
            not_honoured, side_effects = judge_setting(plan, before[kind], after[kind])
        concerned = [
            name
            for name in old
            if name in plan["asked"] or name in plan["fixed"] or name in side_effects
        ]
        result["before"][kind] = {name: old[name] for name in concerned}
        result["after"][kind] = {name: new.get(name) for name in concerned}
        for name, values in (
            ("not_honoured", not_honoured),
            ("side_effects", side_effects),
            ("fixed", plan["fixed"]),
        ):
            if values:
                result[name][kind] = values
    return result
