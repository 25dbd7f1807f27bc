# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds import change, sysfs
from ansible_collections.offload.lab.plugins.module_utils._kinds.change import NodeReader
from ansible_collections.offload.lab.plugins.modules import steering

FILES = {"rps": ("rx-0", "rps_cpus"), "xps": ("tx-0", "xps_cpus")}


@pytest.fixture(params=FILES)
def kind(request):
    return request.param


def folder(tmp_path, monkeypatch, kind):
    """Return the file of a queue of eth0, in a folder that stands for sysfs."""
    monkeypatch.setattr(sysfs, "FOLDER", str(tmp_path))
    carrying = change.management.Management(["eth0"], False)
    monkeypatch.setattr(change.management, "find", lambda: carrying)
    monkeypatch.setattr(
        NodeReader, "read_features", lambda self, names, netns: dict.fromkeys(names, {})
    )
    path = tmp_path / "eth0" / "queues" / "/".join(FILES[kind])
    path.parent.mkdir(parents=True)
    path.write_text("0\n")
    return path


@pytest.fixture
def queue(kind, tmp_path, monkeypatch):
    return folder(tmp_path, monkeypatch, kind)


def run(kind, cpus, allow=(), check_mode=False, **params):
    options = {
        "devices": [{"name": "eth0", kind: {"cpus": cpus}}],
        "fixed": "error",
        "missing": "error",
        "allow_management_device": list(allow),
        **params,
    }
    return steering.converge(SimpleNamespace(check_mode=check_mode, params=options, warn=print))


@pytest.mark.parametrize("check_mode", [True, False])
def test_the_management_device_is_refused(kind, queue, check_mode):
    with pytest.raises(InputError, match="eth0: carries the controller's connection"):
        run(kind, "1", check_mode=check_mode)
    assert queue.read_text() == "0\n"


def test_it_is_changed_where_it_is_allowed(kind, queue):
    device = run(kind, "1", allow=["eth0"])["devices"]["eth0"]
    assert device["after"] == {kind: {FILES[kind][0]: "1"}}
    assert device["steps"] == [["tee", str(queue), "1"]]
    assert queue.read_text() == "1"


def test_one_that_stays_as_it_is_may_be_named(kind, queue):
    assert not run(kind, "off")["changed"]


def test_devices_may_be_given_by_class(kind, queue):
    result = run(
        kind,
        "1",
        devices=None,
        settings={"underlay": {kind: {"cpus": "1"}, "features": {"gro": True}}, "bridge": {}},
        classes={"underlay": [{"name": "eth0"}], "bridge": []},
        allow=["eth0"],
    )
    assert result["changed"]
    assert queue.read_text() == "1"


def test_what_a_device_lacks_may_be_reported(queue, kind):
    lacking = {"rps": "xps", "xps": "rps"}[kind]
    result = run(lacking, "1", fixed="report")
    reason = f"it has no queues that {lacking} can steer"
    assert result["devices"]["eth0"]["fixed"][lacking]["cpus"]["reason"] == reason
    assert not result["changed"]


@pytest.mark.parametrize(
    "item, message",
    [
        ({"name": "eth0", "rps": {"queues": "all"}}, "not a setting of rps.*cpus"),
        ({"name": "eth0", "rfc": {"cpus": "all"}}, "Did you mean rfs"),
        ({"name": "eth0", "features": {"gro": True}}, "'features' is not a key of a device"),
        ({"name": "eth0", "xps": {"cpus": "all"}}, "no queues that xps can steer"),
    ],
)
def test_what_cannot_be_steered_is_refused(item, message, tmp_path, monkeypatch):
    queue = folder(tmp_path, monkeypatch, "rps")
    with pytest.raises(InputError, match=message):
        run("rps", "all", devices=[item])
    assert queue.read_text() == "0\n"
