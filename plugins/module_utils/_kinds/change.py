# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of modules ethtool and steering: read all devices, plan all, and only then change; the
result for each device.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, Iterable, List

from .._base.errors import InputError
from .._base.network import HOST
from .._base.steps import ShownStep, Step, in_netns, shown
from .._ethtool.driver import failure_reason
from .._ethtool.read import check_netns
from .._host.apply import apply
from .._host.runner import CommandResult
from .._iproute import management
from .devices import Device
from .feature import FEATURE
from .kind import DeviceKind, KindState, Reader, SettingPlan
from .kinds import DEVICE_KINDS
from .node import CALLS, NodeReader

States = Dict[str, KindState]  # of one device, by group
Plans = Dict[str, SettingPlan]  # of one device, by group
Failed = Dict[str, List[Dict[str, Any]]]  # of each device, what its failed steps said


def read_all(devices: list[Device]) -> dict[str, States]:
    """Return ``{key: {group: state}}``: the features of every device but the host itself, and the
    other kinds that are asked for.
    """
    states: dict[str, States] = {device.key: {} for device in devices}
    reader = NodeReader()
    kinds = [FEATURE, *(kind for kind in DEVICE_KINDS.values() if kind is not FEATURE)]
    for netns in sorted({device.netns or "" for device in devices}):
        check_netns(netns)
        members = [device for device in devices if (device.netns or "") == netns]
        for kind in kinds:
            read_kind(kind, members, netns, states, reader)
    return states


def read_kind(
    kind: DeviceKind, members: list[Device], netns: str, states: dict[str, States], reader: Reader
) -> None:
    """Put the states of one kind into ``states``, for the devices of one network namespace."""
    asking = {
        device.name: device
        for device in members
        if kind.asked_of(device.requested) or (kind is FEATURE and device.name != HOST)
    }
    by_device = {name: list(kind.asked_of(device.requested)) for name, device in asking.items()}
    for name, state in (kind.read(by_device, netns, reader) if asking else {}).items():
        states[asking[name].key][kind.group] = state


def plan_device(device: Device, state: States, report_fixed: bool) -> Plans:
    """Return ``{group: plan}`` of one device; raises :class:`InputError` for what it cannot do."""
    return {
        group: kind.plan(device.requested, state[group], device.key, report_fixed)
        for group, kind in DEVICE_KINDS.items()
        if kind.asked_of(device.requested)
    }


def steps_of(device: Device, plans: Plans) -> list[Step]:
    """Return the steps that carry out the plans of one device.

    They go on after a failure: reading back shows what acted and what did not; the exit status does
    not.
    """
    steps: list[Step] = []
    for group, plan in plans.items():
        kind = DEVICE_KINDS[group]
        for argv in kind.steps(plan["change"], device.name):
            steps.append(Step(argv, netns=device.netns, check=False))
        for path, text in kind.writes(plan["change"], device.name):
            # ip netns exec shows the sysfs of the namespace
            steps.append(Step(in_netns(["tee", path], device.netns), text, check=False))
        for made in kind.calls(plan["change"], device.name):
            call = partial(CALLS[made.function], *made.arguments)
            steps.append(Step(made.words, netns=device.netns, check=False, call=call))
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


def change(
    devices: list[Device],
    check_mode: bool,
    report_fixed: bool,
    protect: Iterable[str] = (),
    allow: Iterable[str] = (),
) -> dict[str, dict[str, Any]]:
    """Return the result for each device after the change, or in check mode of the change that would
    be made.

    ``allow`` names devices that may be changed although they carry the controller's connection.
    """
    before = read_all(devices)
    plans = {
        device.key: plan_device(device, before[device.key], report_fixed) for device in devices
    }
    steps = {device.key: steps_of(device, plans[device.key]) for device in devices}
    check_protected(devices, steps, protect)
    management.check([key for key in steps if steps[key]], allow)
    failed: Failed = {key: [] for key in steps}
    if check_mode or not any(steps.values()):
        after = {key: predict(before[key], plans[key]) for key in before}
    else:
        after = _apply(devices, steps, report_fixed, failed)
    results = {}
    for device in devices:
        key = device.key
        result = report(device, plans[key], before[key], after[key])
        result["steps"] = [_words(step) for step in shown(steps[key])]
        result["failed_steps"] = failed[key]
        results[key] = result
    return results


def _words(step: ShownStep) -> list[str]:
    """Return a step as one list of arguments, the text that it writes among them."""
    return step["argv"] + (step["stdin"] or "").split()


def _apply(
    devices: list[Device], steps: dict[str, list[Step]], report_fixed: bool, failed: Failed
) -> dict[str, States]:
    """Run the steps and return the states after them; put into ``failed`` what fails."""
    for key, commands in steps.items():
        failed[key] = failures(apply(commands))
    after = read_all(devices)
    waiting = [device for device in devices if 0 < len(failed[device.key]) < len(steps[device.key])]
    return _again(waiting, after, report_fixed, failed) if waiting else after


def _again(
    devices: list[Device], states: dict[str, States], report_fixed: bool, failed: Failed
) -> dict[str, States]:
    """Take what failed once more, where another step acted: a veth has NAPI to thread only with GRO.

    Return the states after it, and put into ``failed`` what fails still.
    """
    for device in devices:
        plans = plan_device(device, states[device.key], report_fixed)
        failed[device.key] = failures(apply(steps_of(device, plans)))
    return {**states, **read_all(devices)}


def failures(results: Iterable[CommandResult]) -> list[dict[str, Any]]:
    """Return ``[{"cmd", "rc", "reason"}]`` of the results that ethtool says failed."""
    return [
        {"cmd": result.argv, "rc": result.rc, "reason": failure_reason(result.err, result.out)}
        for result in results
        if result.rc != 0
    ]


def predict(state: States, plans: Plans) -> States:
    """Return the state of one device that check mode expects."""
    predicted = dict(state)
    for group, plan in plans.items():
        predicted[group] = DEVICE_KINDS[group].predict(state[group], plan["change"])
    return predicted


def report(device: Device, plans: Plans, before: States, after: States) -> dict[str, Any]:
    """Return the result for one device: by group what was, what is, and what is not as asked."""
    result: dict[str, dict[str, Any]] = {
        "before": {},
        "after": {},
        "not_honoured": {},
        "side_effects": {},
        "fixed": {},
    }
    exact = "features_wanted" in device.requested
    for group, plan in plans.items():
        kind = DEVICE_KINDS[group]
        missed, others = kind.judge(plan, before[group], after[group], exact)
        refused = {} if exact else kind.refused(plan, after[group])
        missed = {name: value for name, value in missed.items() if name not in refused}
        old = kind.values(before[group])
        new = kind.values(after[group])
        concerned = {**plan["requested"], **plan["fixed"], **others}
        result["before"][group] = {name: old[name] for name in old if name in concerned}
        result["after"][group] = {name: new.get(name) for name in old if name in concerned}
        parts = {
            "not_honoured": missed,
            "side_effects": others,
            "fixed": {**plan["fixed"], **refused},
        }
        for part, values in parts.items():
            if values:
                result[part][group] = values
    return result
