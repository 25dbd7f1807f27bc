# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of modules ethtool and steering: read all devices, plan all, and only then change; the
result for each device, and the words of diff mode and of warnings.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Literal, Sequence, TypedDict

from .._base.errors import CommandError, InputError
from .._base.network import HOST
from .._base.steps import ShownStep, Step, in_netns, shown
from .._ethtool import read as ethtool
from .._ethtool.read import check_netns
from .._ethtool.settings import failure_reason
from .._host import bpf, trusted
from .._host.netns import inside
from .._host.runner import CommandResult, apply, run
from .._iproute import management
from . import napi_netlink, sysfs, xdp_program
from .devices import Device, by_namespace
from .feature import FEATURE
from .kind import DeviceKind, KindState, NotAsAsked, Reader, SettingPlan, SideEffect, Values
from .kinds import DEVICE_KINDS, SYSFS_FILES

CALLS: dict[str, Callable[..., None]] = {
    "napi_set": napi_netlink.set_number,
    "set_xdp": xdp_program.set_level,
}


class NodeReader:
    """Reads the devices of a node for one task; what one process lists for several kinds is kept."""

    read_features = staticmethod(ethtool.read_features)
    read_flow_hash = staticmethod(ethtool.read_flow_hash)
    find_program = staticmethod(trusted.find)

    def __init__(self) -> None:
        self._files: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
        self._napis: dict[str, dict[str, list[napi_netlink.Napi]]] = {}
        self._outputs: dict[tuple[str, ...], tuple[str, str | None]] = {}

    def read_listing(
        self, option: str, parse: Callable[[str], Any], names: list[str], netns: str | None
    ) -> dict[str, tuple[Any, str | None]]:
        """Return what ethtool lists of devices for an option, or why it lists nothing."""
        return ethtool.read_listing(option, parse, names, netns)

    def read_files(self, names: list[str], netns: str | None) -> dict[str, dict[str, str]]:
        """Return ``{device: {path below its folder in sysfs: text}}`` of the files that kinds are.

        A file that is not there or cannot be read is left out. ``ip netns exec`` shows the sysfs of
        the namespace.
        """
        key = (netns or "", *names)
        if key not in self._files:
            argv = in_netns(sysfs.listing(names, SYSFS_FILES), netns)
            self._files[key] = sysfs.parse_listing(run(argv, check=False).out)
        return self._files[key]

    def read_text(self, path: str) -> str | None:
        """Return the text of a file of the host, None where it cannot be read."""
        try:
            with open(path, encoding="ascii") as stream:
                return stream.read().strip()
        except OSError:
            return None

    def read_napis(self, netns: str | None) -> dict[str, list[napi_netlink.Napi]]:
        """Return the NAPI instances of each device of a namespace, in the order of their queues."""
        key = netns or ""
        if key not in self._napis:
            with inside(netns):
                self._napis[key] = napi_netlink.read()
        return self._napis[key]

    def read_program_name(self, number: Any) -> str | None:
        """Return the name of a BPF program by its number, None where it is not known."""
        return bpf.info_of(number).get("name") if isinstance(number, int) else None

    def read_output(self, argv: list[str], netns: str | None) -> tuple[str, str | None]:
        """Return what a command prints, and why it failed, None where it did not."""
        key = (netns or "", *argv)
        if key not in self._outputs:
            self._outputs[key] = _output(argv, netns)
        return self._outputs[key]


def _output(argv: list[str], netns: str | None) -> tuple[str, str | None]:
    """A program that is not installed is a reason like others: tc is a package of its own on EL."""
    try:
        result = run(argv, netns=netns, check=False)
    except CommandError as error:
        return "", f"{argv[0]} {error.what}"
    return result.out, failure_reason(result.err, result.out) if result.rc != 0 else None


States = Dict[str, KindState]  # of one device, by group
Plans = Dict[str, SettingPlan]  # of one device, by group


class FailedStep(TypedDict):
    """A command that failed, and why."""

    cmd: Sequence[str]
    rc: int
    reason: str


class DeviceReport(TypedDict):
    """What became of one device, by group: what was, what is, and what is not as asked."""

    before: dict[str, Values]
    after: dict[str, Values]
    not_honoured: dict[str, dict[str, NotAsAsked]]
    side_effects: dict[str, dict[str, SideEffect]]
    fixed: dict[str, dict[str, NotAsAsked]]
    steps: list[list[str]]
    failed_steps: list[FailedStep]


Reports = Dict[str, DeviceReport]  # by device
Failed = Dict[str, List[FailedStep]]  # of each device


def read_all(devices: list[Device]) -> dict[str, States]:
    """Return ``{key: {group: state}}``: the features of every device but the host itself, and the
    other kinds that are asked for.
    """
    states: dict[str, States] = {device.key: {} for device in devices}
    reader = NodeReader()
    kinds = [FEATURE, *(kind for kind in DEVICE_KINDS.values() if kind is not FEATURE)]
    for netns, members in by_namespace(devices).items():
        check_netns(netns)
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
    by_device = {name: kind.asked_of(device.requested) for name, device in asking.items()}
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
) -> Reports:
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
    reports: Reports = {}
    for device in devices:
        key = device.key
        reports[key] = report = report_of(device, plans[key], before[key], after[key])
        report["steps"] = list(map(_words, shown(steps[key])))
        report["failed_steps"] = failed[key]
    return reports


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


def failures(results: Iterable[CommandResult]) -> list[FailedStep]:
    """Return the results that ethtool says failed."""
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


def report_of(device: Device, plans: Plans, before: States, after: States) -> DeviceReport:
    """Return the result for one device, without its steps."""
    report: DeviceReport = {
        "before": {},
        "after": {},
        "not_honoured": {},
        "side_effects": {},
        "fixed": {},
        "steps": [],
        "failed_steps": [],
    }
    exact = "features_wanted" in device.requested
    for group, plan in plans.items():
        refused = {} if exact else DEVICE_KINDS[group].refused(plan, after[group])
        missed, others = DEVICE_KINDS[group].judge(plan, before[group], after[group], exact)
        missed = {name: value for name, value in missed.items() if name not in refused}
        _add_values(report, group, {*plan["requested"], *plan["fixed"], *others}, before, after)
        if missed:
            report["not_honoured"][group] = missed
        if others:
            report["side_effects"][group] = others
        if plan["fixed"] or refused:
            report["fixed"][group] = {**plan["fixed"], **refused}
    return report


def _add_values(
    report: DeviceReport, group: str, concerned: set[str], before: States, after: States
) -> None:
    """Add the values of one kind before and after, of the settings that a plan concerns."""
    old = DEVICE_KINDS[group].values(before[group])
    new = DEVICE_KINDS[group].values(after[group])
    names = [name for name in old if name in concerned]
    report["before"][group] = {name: old[name] for name in names}
    report["after"][group] = {name: new.get(name) for name in names}


def printed(value: Any) -> str:
    """Return a value as ethtool prints it; a feature with what is requested of it."""
    if isinstance(value, dict):
        requested = value.get("requested")
        return printed(value["active"]) + (
            "" if requested is None else f" [requested {printed(requested)}]"
        )
    return (
        {True: "on", False: "off", None: "n/a"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )


def lines(devices: Reports, moment: Literal["before", "after"]) -> str:
    """Return the text of diff mode, for ``moment`` before or after: what differs, a line for each
    value.
    """
    rows: list[str] = []
    for key, device in devices.items():
        for kind, values in device[moment].items():
            rows.extend(
                f"{key} {kind} {name}: {printed(value)}"
                for name, value in values.items()
                if device["before"][kind].get(name) != device["after"][kind].get(name)
            )
    return "".join(row + "\n" for row in rows)


def cannot_vary(devices: Reports) -> list[str]:
    """Return what the devices cannot be set to although it was asked for, a sentence each."""
    texts = []
    for key, device in devices.items():
        for names in device["fixed"].values():
            for name, values in names.items():
                why = values.get("reason") or f"it is fixed {printed(bool(values.get('active')))}"
                texts.append(f"{key}: {name} cannot be varied: {why}")
    return texts


def warnings(devices: Reports) -> list[str]:
    """Return one warning for each device on which something is not as asked."""
    texts = []
    for key, device in devices.items():
        missed = []
        for kind in device["not_honoured"].values():
            for name, values in kind.items():
                missed.append(f"{name} (asked {printed(values['asked'])}, is {printed(values)})")
        reasons = sorted({step["reason"] for step in device["failed_steps"]})
        if missed:
            why = f" ({'; '.join(reasons)})" if reasons else ""
            texts.append(f"{key}: not honoured: {', '.join(missed)}{why}")
    return texts
