# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one body of the module ethtool: read all devices, plan all, and only then change; what is said of each device."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._ethtool_facts import failure_reason
from ansible_collections.offload.lab.plugins.module_utils._ethtool_plan import (
    feature_steps,
    judge_features,
    plan_features,
    plan_wanted,
    predict_features,
)
from ansible_collections.offload.lab.plugins.module_utils._ethtool_read import (
    check_netns,
    read_features,
    read_flow_hash,
    read_settings,
)
from ansible_collections.offload.lab.plugins.module_utils._ethtool_settings_plan import (
    check_flow_types,
    judge_setting,
    plan_setting,
    predict_setting,
    setting_steps,
)
from ansible_collections.offload.lab.plugins.module_utils._runner import in_netns, run

# The order of the changes: a new number of channels resets what the others rest on.
KINDS = ("channels", "rings", "coalesce", "rx_flow_hash", "features")


def asks(device, kind):
    """Return what is asked of a device in one kind, or None; exact feature bits are of the kind features."""
    if kind == "features":
        return device.asked.get("features") or device.asked.get("features_wanted")
    return device.asked.get(kind)


def read_all(devices):
    """Return ``{key: {kind: state}}``: the features of every device, and the other kinds that are asked for."""
    states = {device.key: {} for device in devices}
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
            states[device.key]["rx_flow_hash"] = read_flow_hash(device.name, list(device.asked["rx_flow_hash"]),
                                                                device.netns)
    return states


def plan_device(device, state, report_fixed):
    """Return ``{kind: plan}`` of one device; raises :class:`InputError` for what it cannot do."""
    plans = {}
    for kind in KINDS:
        if kind == "features" and device.asked.get("features_wanted"):
            plans[kind] = plan_wanted(device.asked["features_wanted"], state[kind], device.key, report_fixed)
        elif kind == "features" and asks(device, kind):
            plans[kind] = plan_features(device.asked["features"], state[kind], device.key, report_fixed)
        elif asks(device, kind):
            plans[kind] = plan_setting(kind, device.asked[kind], state[kind], device.key, report_fixed)
    return plans


def steps_of(device, plans):
    """Return the argument lists that carry out the plans of one device, as they are run."""
    steps = []
    for kind, plan in plans.items():
        make = feature_steps(plan["change"], device.name) if kind == "features" else setting_steps(
            kind, plan["change"], device.name)
        steps.extend(in_netns(argv, device.netns) for argv in make)
    return steps


def check_protected(devices, steps, protect):
    """Raise :class:`InputError` if a device that the user protects would be changed."""
    for device in devices:
        if device.key in protect and steps[device.key]:
            raise InputError("is protected and would be changed", device.key,
                             "Leave it out of 'devices', or out of 'protect' if you mean to change it.")


def apply(steps):
    """Run the steps of one device; return ``[{"cmd", "rc", "reason"}]`` of those that ethtool says failed.

    They go on after a failure: what acted and what did not is told by reading back, not by the exit status.
    """
    results = [run(argv, check=False) for argv in steps]
    return [{"cmd": result.argv, "rc": result.rc, "reason": failure_reason(result.err, result.out)}
            for result in results if result.rc != 0]


def predict(state, plans):
    """Return the state of one device that check mode expects."""
    predicted = dict(state)
    for kind, plan in plans.items():
        expect = predict_features if kind == "features" else predict_setting
        predicted[kind] = expect(state[kind], plan["change"])
    return predicted


def report(device, plans, before, after):
    """Return what is told of one device: by kind what was, what is, and what is not as asked."""
    result = {"before": {}, "after": {}, "not_honoured": {}, "side_effects": {}, "fixed": {}}
    for kind, plan in plans.items():
        if kind == "features":
            exact = "features_wanted" in device.asked
            old, new = before[kind], after[kind]
            not_honoured, side_effects = judge_features(plan, old, new, exact)
        else:
            old, new = before[kind].get("current", {}), after[kind].get("current", {})
            not_honoured, side_effects = judge_setting(plan, before[kind], after[kind])
        concerned = [name for name in old if name in plan["asked"] or name in plan["fixed"] or name in side_effects]
        result["before"][kind] = {name: old[name] for name in concerned}
        result["after"][kind] = {name: new.get(name) for name in concerned}
        for name, values in (("not_honoured", not_honoured), ("side_effects", side_effects), ("fixed", plan["fixed"])):
            if values:
                result[name][kind] = values
    return result
