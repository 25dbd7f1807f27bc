# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A device is not its name: what was renamed is restored, and another device is never changed.

The kernel's own devices are veths. Hardware, which this machine has none to take away of, is a veth
that reads as if it had a bus address.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._kinds.info import read as gather
from ansible_collections.offload.lab.plugins.module_utils._kinds.info import restore_item
from ansible_collections.offload.lab.plugins.module_utils._restore import (
    identity,
    restore,
    sign_of_life,
    snapshot,
)
from ansible_collections.offload.lab.plugins.modules import ethtool
from ansible_collections.offload.lab.tests.support import run

NETNS = "sectest-identity"
BIT = "tx-tcp-segmentation"
MACS = {"d0": "02:00:00:00:00:d0", "d1": "02:00:00:00:00:d1", "d2": "02:00:00:00:00:d2"}
OPTIONS = {
    "netns": None,
    "rx_flow_hash": {},
    "channels": {},
    "rings": {},
    "coalesce": {},
    "fixed": "report",
    "protect": [],
    "features": {},
}


def ip(*arguments):
    return run(["ip", "-netns", NETNS, *arguments])


def make(name, mac):
    ip("link", "add", name, "address", mac, "type", "veth", "peer", "name", f"peer-{mac[-2:]}")


def rename(old, new):
    ip("link", "set", old, "name", new)


def delete(name):
    ip("link", "del", name)


@pytest.fixture(autouse=True)
def namespace(root_required):
    run(["ip", "netns", "add", NETNS])
    try:
        for name in ("d0", "d1"):
            make(name, MACS[name])
        yield
    finally:
        run(["ip", "netns", "del", NETNS])


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "snapshot.json")


def is_on(name):
    text = run(["ip", "netns", "exec", NETNS, "ethtool", "-k", name])
    row = next(line for line in text.splitlines() if line.strip().startswith(BIT + ":"))
    return row.split(":")[1].split()[0] == "on"


def mtu(name):
    return json.loads(ip("-json", "link", "show", name))[0]["mtu"]


def turn(name, on):
    bits = {BIT: on}
    device = {"name": name, "netns": NETNS, "features_wanted": bits}
    ethtool.change(dict(OPTIONS, devices=[device]), False)


def keep(path, *names, old=None):
    """Write a snapshot of devices, as module snapshot does."""
    devices = [{"name": name, "netns": NETNS} for name in names]
    kinds = ["features", "channels", "rings", "coalesce"]
    rows = gather({"devices": devices, "netns": None, "flow_types": [], "gather": kinds})
    items = [restore_item(row) for row in rows.values()]
    snapshot.write(path, snapshot.merge(old, items, {}))


def read(path):
    return json.loads(Path(path).read_text())


def change(name):
    """Set what a campaign may leave."""
    turn(name, False)
    ip("link", "set", name, "mtu", "1400")


def is_restored(name):
    return is_on(name) and mtu(name) == 1500


def is_changed(name):
    return not is_on(name) and mtu(name) == 1400


@pytest.fixture
def hardware(monkeypatch):
    """Have veths of some MAC addresses read as hardware: the addresses, each with a bus address."""
    places = {MACS["d0"]: "0000:01:00.0", MACS["d1"]: "0000:02:00.0"}
    read_really = identity._read

    def pretend(asking, name):
        device = read_really(asking, name)
        if device["address"] in places:
            device.update(permanent=device["address"], bus=places[device["address"]], driver="nic")
        return device

    monkeypatch.setattr(identity, "_read", pretend)
    return places


def test_a_renamed_device_is_restored_under_its_new_name(path):
    keep(path, "d0")
    change("d0")
    rename("d0", "lan0")
    restored = restore.restore(path)
    assert is_restored("lan0")
    assert restored["missing"] == []
    assert restored["renamed"] == {f"{NETNS}/d0": f"{NETNS}/lan0"}
    assert not os.path.exists(path)


def test_two_devices_that_swapped_their_names_are_both_restored(path):
    turn("d1", False)  # the originals differ: by name each would get the other's
    keep(path, "d0", "d1")
    change("d0")
    turn("d1", True)
    for old, new in (("d0", "x"), ("d1", "d0"), ("x", "d1")):
        rename(old, new)
    restore.restore(path)
    assert is_restored("d1")
    assert not is_on("d0")


def test_another_device_that_has_the_name_is_never_changed(path):
    keep(path, "d0")
    delete("d0")
    make("d0", MACS["d2"])
    change("d0")
    restored = restore.restore(path)
    assert is_changed("d0")
    assert restored["missing"] == [f"{NETNS}/d0"]
    assert "another device has its name and is not changed" in restored["notes"][0]


def test_a_renamed_device_and_another_one_with_its_name(path):
    keep(path, "d0")
    change("d0")
    rename("d0", "lan0")
    make("d0", MACS["d2"])
    change("d0")
    restore.restore(path)
    assert is_restored("lan0")
    assert is_changed("d0")


def test_a_software_device_that_is_gone_blocks_nothing(path):
    keep(path, "d0", "d1")
    change("d1")
    delete("d0")
    restored = restore.restore(path)
    assert is_restored("d1")
    assert (restored["missing"], restored["kept"]) == ([f"{NETNS}/d0"], [])
    assert "forgotten" in restored["notes"][0]
    assert not os.path.exists(path)


def test_a_software_device_that_is_recreated_with_its_address_is_the_same(path):
    keep(path, "d0")
    delete("d0")
    make("d0", MACS["d0"])
    change("d0")
    restore.restore(path)
    assert is_restored("d0")


def test_hardware_that_is_gone_keeps_its_part_until_it_is_back(path, hardware):
    keep(path, "d0", "d1")
    change("d0")
    change("d1")
    rename("d0", "absent")
    assert hardware.pop(MACS["d0"])  # a driver that is unbound: no device reads as this hardware
    ip("link", "set", "absent", "address", MACS["d2"])
    delete("absent")
    first = restore.restore(path)
    assert is_restored("d1")
    assert (first["kept"], first["changed"]) == ([f"{NETNS}/d0"], True)
    assert "-e offload_lab_forget_missing=true" in first["notes"][0]
    kept = read(path)
    assert [item["name"] for item in kept["devices"]] == ["d0"]
    assert [item["name"] for item in kept["links"]] == ["d0"]
    change("d1")  # by its administrator: this is restored already
    assert not restore.restore(path)["changed"]
    assert is_changed("d1")
    hardware[MACS["d0"]] = "0000:01:00.0"
    make("back", MACS["d0"])  # its driver is bound again, and names it differently
    change("back")
    assert restore.restore(path)["renamed"] == {f"{NETNS}/d0": f"{NETNS}/back"}
    assert is_restored("back")
    assert is_changed("d1")
    assert not os.path.exists(path)


def test_another_card_in_the_place_of_the_one_that_is_gone_is_never_changed(path, hardware):
    keep(path, "d0")
    delete("d0")
    hardware[MACS["d2"]] = hardware.pop(MACS["d0"])
    make("d0", MACS["d2"])
    change("d0")
    assert restore.restore(path)["kept"] == [f"{NETNS}/d0"]
    assert is_changed("d0")


def test_a_campaign_goes_on_beside_hardware_that_is_gone(path, hardware):
    """Another card has its name now: both are in the snapshot, and each gets its own settings."""
    keep(path, "d0")
    delete("d0")
    make("d0", MACS["d2"])
    keep(path, "d0", old=snapshot.read(path))
    change("d0")
    assert restore.restore(path)["kept"] == [f"{NETNS}/d0"]
    assert is_restored("d0")
    assert len(snapshot.read(path)["devices"]) == 1


def test_a_user_may_forget_hardware_that_is_gone(path, hardware):
    keep(path, "d0")
    delete("d0")
    restore.restore(path)
    assert os.path.exists(path)
    assert restore.restore(path, forget_missing=True)["changed"]
    assert not os.path.exists(path)


def reboot(path):
    """Have a snapshot be one of the boot before this one."""
    kept = read(path)
    kept["boot_id"] = "5f3a2b1c-0000-4000-8000-000000000000"
    snapshot.write(path, kept)


def test_after_a_reboot_a_snapshot_is_forgotten_not_applied(path):
    keep(path, "d0")
    reboot(path)
    change("d0")  # by the administrator, since the reboot
    restored = restore.restore(path)
    assert is_changed("d0")
    assert restored["commands"] == []
    assert "rebooted" in restored["notes"][0]
    assert f"{NETNS}/d0" in restored["notes"][0]
    assert not os.path.exists(path)


def test_a_snapshot_of_schema_1_is_restored_by_name(path):
    keep(path, "d0")
    kept = read(path)
    for item in kept["devices"] + kept["links"]:
        item.pop("identity", None)
    kept.pop("boot_id", None)
    snapshot.write(path, {**kept, "schema": 1})
    change("d0")
    restore.restore(path)
    assert is_restored("d0")


def renamed(_path):
    rename("d0", "lan0")


def replaced(_path):
    delete("d0")
    make("d0", MACS["d2"])


@pytest.mark.parametrize("event", [renamed, replaced, reboot])
def test_a_campaign_changes_nothing_once_a_name_means_another_device(path, event):
    """Each visit asks for a sign of life before it changes a device."""
    keep(path, "d0", "d1")
    sign_of_life.renew(path)
    event(path)
    with pytest.raises(LabError, match="renamed|another device|rebooted"):
        sign_of_life.renew(path)


def test_a_device_that_is_gone_stops_no_campaign(path):
    keep(path, "d0", "d1")
    delete("d0")
    sign_of_life.renew(path)


def applied_file(path, boot):
    """Write what module applied writes after TSO of d0 was switched off."""
    kept = read(path)
    off = {"name": "d0", "netns": NETNS, "features_wanted": {BIT: False}}
    for item in kept["devices"]:
        item["features_wanted"] = {BIT: True}
        off["identity"] = item["identity"]
    kept.pop("boot_id")
    kept["links"] = []
    kept["applied"] = {"since": 1.0, "boot_id": boot, "devices": [off]}
    snapshot.write(path, kept)


def test_revert_finds_a_renamed_device_too(path):
    keep(path, "d0")
    applied_file(path, snapshot.boot_id())
    turn("d0", False)
    rename("d0", "lan0")
    make("d0", MACS["d2"])
    turn("d0", False)
    restore.restore(path)
    assert is_on("lan0")
    assert not is_on("d0")


def test_revert_after_a_reboot_takes_back_what_the_hosts_configuration_has_set(path):
    keep(path, "d0")
    applied_file(path, "the boot before")
    delete("d0")
    make("d0", MACS["d0"])  # by the boot: it has another index
    turn("d0", False)
    restore.restore(path)
    assert is_on("d0")


def test_revert_after_a_reboot_leaves_what_somebody_has_set_since(path):
    keep(path, "d0")
    applied_file(path, "the boot before")
    changed = read(path)
    changed["devices"][0]["features_wanted"] = {BIT: False}  # the original
    changed["applied"]["devices"][0]["features_wanted"] = {BIT: False}
    snapshot.write(path, changed)
    assert is_on("d0")
    assert restore.restore(path)["commands"] == []
    assert is_on("d0")
