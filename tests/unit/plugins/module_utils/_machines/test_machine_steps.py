# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._machines import qemu
from ansible_collections.offload.lab.plugins.module_utils._machines.machine import (
    validate,
    wanted_taps,
)
from ansible_collections.offload.lab.plugins.module_utils._machines.machine_steps import (
    files_of,
    plan_absent,
    plan_present,
)
from ansible_collections.offload.lab.plugins.module_utils._machines.qemu import (
    command,
    require_files,
)

FOLDER = "/var/lib/ours"
EMPTY = {"ours": False, "foreign": False, "fabric": False, "keys": False, "machines": {}}
PROCESS = {"pid": 1, "started": 2}


def wanted(*numbers, **options):
    return validate(
        "a",
        FOLDER,
        [
            {
                "name": f"node{number}",
                "image": "/images/one",
                "port": 22080 + number,
                "cpus": 1,
                "memory": 1024,
                "nics": [
                    {
                        "name": "underlay0",
                        "model": "e1000e",
                        "queues": 1,
                        "address": f"198.18.0.{number}/24",
                        "mtu": 9000,
                        "properties": {},
                    }
                ],
                **options,
            }
            for number in numbers
        ],
    )


def running(*machines):
    """Return the state of a machine on which these run."""
    return {
        **EMPTY,
        "ours": True,
        "fabric": True,
        "keys": True,
        "machines": {
            machine["name"]: {
                "spec": copy.deepcopy(machine),
                "accel": "tcg",
                "process": PROCESS,
                "disk": True,
                "taps": wanted_taps(machine),
            }
            for machine in machines
        },
    }


def programs(plan):
    return [step.argv[0] for step in plan.steps]


def names(plan):
    return [machine["name"] for machine in plan.start]


def test_from_nothing():
    plan = plan_present("a", FOLDER, wanted(1, 2), EMPTY)
    assert (plan.stop, names(plan)) == ([], ["node1", "node2"])
    assert programs(plan).count("ssh-keygen") == 2 and programs(plan).count("debugfs") == 2
    assert "netns add a-fabric\n" in [step.stdin for step in plan.steps]


def test_what_is_there_is_left():
    assert not any(plan_present("a", FOLDER, wanted(1, 2), running(*wanted(1, 2))))
    plan = plan_present("a", FOLDER, wanted(1, 2), running(*wanted(1)))
    assert (plan.stop, names(plan), programs(plan).count("debugfs")) == ([], ["node2"], 1)


def test_one_that_was_killed_is_started_with_its_disk():
    state = running(*wanted(1, 2))
    state["machines"]["node2"]["process"] = None
    plan = plan_present("a", FOLDER, wanted(1, 2), state)
    assert (plan.stop, plan.steps, names(plan)) == ([], [], ["node2"])


@pytest.mark.parametrize("change", [{"cpus": 2}, {"image": "/images/other"}])
def test_one_that_is_to_be_another_is_recreated(change):
    plan = plan_present("a", FOLDER, wanted(1, **change), running(*wanted(1, 2)))
    assert (plan.stop, names(plan)) == (["node1"], ["node1"])
    assert plan.steps[0].argv == ["rm", "-rf", f"{FOLDER}/node1"]


def test_without_their_network_all_are_started_again():
    state = {**running(*wanted(1, 2)), "fabric": False}
    plan = plan_present("a", FOLDER, wanted(1, 2), state)
    assert plan.stop == names(plan) == ["node1", "node2"] and "debugfs" not in programs(plan)


def in_a_node(*numbers):
    """Return machines whose device is in a namespace that is not theirs."""
    return wanted(
        *numbers,
        nics=[
            {
                "name": "tenant0",
                "model": "virtio-net-pci",
                "queues": 1,
                "address": None,
                "mtu": 8950,
                "properties": {},
                "netns": "lab-node1",
            }
        ],
    )


def test_devices_in_other_namespaces_need_no_network_of_their_own():
    others = {
        **EMPTY,
        "fabric": True,
    }  # of another lab with this name: neither used nor removed
    plan = plan_present("a", FOLDER, in_a_node(1), others)
    assert names(plan) == ["node1"] and not any(
        "fabric" in (step.stdin or "") for step in plan.steps
    )
    state = {**running(*in_a_node(1)), "fabric": False}
    assert not any(plan_present("a", FOLDER, in_a_node(1), state))
    gone = [step for step in plan_absent("a", FOLDER, [], state).steps if step.argv[0] == "ip"]
    assert [(step.netns, step.argv[-1], step.check) for step in gone] == [
        ("lab-node1", "node1-0", False)
    ]


def test_a_machine_whose_taps_went_with_their_namespace_is_started_again():
    state = running(*in_a_node(1))
    state["machines"]["node1"]["taps"] = []
    plan = plan_present("a", FOLDER, in_a_node(1), state)
    assert plan.stop == names(plan) == ["node1"] and "debugfs" not in programs(plan)


def test_what_others_have_is_refused():
    for state in ({"foreign": True}, {"fabric": True}):
        with pytest.raises(InputError):
            plan_present("a", FOLDER, wanted(1), {**EMPTY, **state})
    assert not any(plan_absent("a", FOLDER, [], {**EMPTY, "foreign": True, "fabric": True}))


def test_the_folder_goes_with_the_last():
    state = running(*wanted(1, 2))
    planned = plan_absent("a", FOLDER, ["node1"], state)
    both = plan_absent("a", FOLDER, [], state)
    assert (planned.stop, [step.argv[-1] for step in planned.steps]) == (
        ["node1"],
        [f"{FOLDER}/node1"],
    )
    assert both.stop == ["node1", "node2"] and both.steps[-1].argv == ["rm", "-rf", FOLDER]
    assert "netns del a-fabric\n" in [step.stdin for step in both.steps]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"name": "Node_1"}, "not a name for a machine"),
        ({"memory": 1}, "memory"),
        ({"port": 0}, "port"),
        ({"nics": []}, "0 NICs"),
        ({"cpus": 0}, "cpus"),
    ],
)
def test_what_cannot_be_is_refused(change, complaint):
    with pytest.raises(InputError, match=complaint):
        wanted(1, **change)


def test_a_device_has_no_name_of_the_kernels():
    nic = {
        "name": "eth0",
        "model": "e1000e",
        "queues": 1,
        "address": None,
        "mtu": 1500,
        "properties": {},
    }
    with pytest.raises(InputError, match="eth0 is a name that the kernel gives"):
        wanted(1, nics=[nic])


def test_two_machines_share_no_port():
    with pytest.raises(InputError, match="port 22999"):
        wanted(1, 2, port=22999)


def test_qemu_gets_the_taps_of_each_device():
    nic = {
        "name": "underlay0",
        "model": "virtio-net-pci",
        "queues": 2,
        "address": "198.18.0.1/24",
        "mtu": 9000,
        "properties": {"rss": "on"},
    }
    more = {**nic, "name": "underlay1", "model": "vmxnet3", "queues": 1, "address": None}
    [machine] = wanted(1, nics=[nic, more])
    argv = command("a", FOLDER, machine, "tcg", {"underlay0": [5, 6], "underlay1": [7]})
    assert "tap,id=underlay0,fds=5:6" in argv and "tap,id=underlay1,fd=7" in argv
    [several] = [word for word in argv if word.startswith("virtio-net-pci,netdev=underlay0")]
    assert several.endswith("mq=on,vectors=6,rss=on")
    files = files_of("a", machine)
    mac = several.split("mac=")[1].split(",")[0]
    assert f"MACAddress={mac}\n" in files["/etc/systemd/network/10-underlay0.link"]
    assert "Address=" not in files["/etc/systemd/network/10-underlay1.network"]


def test_a_machine_may_boot_another_kernel_than_its_images():
    (machine,) = wanted(1, kernel="/kernels/mine")
    argv = command("a", FOLDER, machine, "tcg", {"underlay0": [7]})
    assert argv[argv.index("-kernel") + 1] == "/kernels/mine/vmlinuz"
    assert argv[argv.index("-initrd") + 1] == "/kernels/mine/initrd.img"
    assert names(plan_present("a", FOLDER, [machine], running(*wanted(1)))) == ["node1"]


def test_what_an_option_of_later_leaves_out_is_as_it_was_made_before():
    (machine,) = wanted(1, kernel=None)
    (device,) = machine["nics"]
    assert "kernel" not in machine and "vhost" not in device
    again = wanted(1, kernel="", nics=[{**device, "vhost": False, "netns": None}])
    assert not any(plan_present("a", FOLDER, again, running(machine)))


def test_this_machines_kernel_moves_packets_where_that_is_wanted():
    virtio = {**wanted(1)[0]["nics"][0], "model": "virtio-net-pci", "vhost": True}
    (machine,) = wanted(1, nics=[virtio])
    argv = command("a", FOLDER, machine, "tcg", {"underlay0": [7]})
    assert "tap,id=underlay0,fd=7,vhost=on" in argv
    with pytest.raises(InputError, match="virtio-net-pci only"):
        wanted(1, nics=[{**virtio, "model": "vmxnet3"}])


@pytest.mark.parametrize("missing", ["vmlinuz", "initrd.img"])
def test_files_of_a_kernel_that_are_not_there_are_named(tmp_path, missing):
    for name in {"vmlinuz", "initrd.img"} - {missing}:
        (tmp_path / name).write_text("")
    with pytest.raises(InputError, match=missing):
        require_files(wanted(1, kernel=str(tmp_path)))
    (tmp_path / missing).write_text("")
    require_files(wanted(1, kernel=str(tmp_path)))


def test_vhost_that_this_machine_lacks_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(qemu, "VHOST", str(tmp_path / "vhost-net"))
    device = {**wanted(1)[0]["nics"][0], "model": "virtio-net-pci", "vhost": True}
    with pytest.raises(InputError, match="vhost_net"):
        require_files(wanted(1, nics=[device]))
    (tmp_path / "vhost-net").write_text("")
    require_files(wanted(1, nics=[device]))
