# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds import steering as steering_kinds
from ansible_collections.offload.lab.plugins.modules import steering

FILES = {"rps": "rx-0/rps_cpus", "xps": "tx-0/xps_cpus"}


@pytest.fixture(params=FILES)
def kind(request):
    return request.param


@pytest.fixture
def queue(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(steering_kinds, "QUEUES", str(tmp_path / "{0}" / "queues"))
    monkeypatch.setattr(steering.management, "find", lambda: ["eth0"])
    path = tmp_path / "eth0" / "queues" / FILES[kind]
    path.parent.mkdir(parents=True)
    path.write_text("0\n")
    return path


def run(kind, cpus, allow=(), check_mode=False, **params):
    asked = {
        "devices": [{"name": "eth0", kind: {"cpus": cpus}}],
        "missing": "error",
        "allow_management_device": list(allow),
        **params,
    }
    return steering.converge(SimpleNamespace(check_mode=check_mode, params=asked))


@pytest.mark.parametrize("check_mode", [True, False])
def test_the_management_device_is_refused(kind, queue, check_mode):
    with pytest.raises(InputError, match="eth0: carries the controller's connection"):
        run(kind, "1", check_mode=check_mode)
    assert queue.read_text() == "0\n"


def test_it_is_changed_where_it_is_allowed(kind, queue):
    assert run(kind, "1", allow=["eth0"])["devices"] == {"eth0": {FILES[kind]: "1"}}
    assert queue.read_text() == "1"


def test_one_that_stays_as_it_is_may_be_named(kind, queue):
    assert not run(kind, "off")["changed"]


def test_devices_may_be_given_by_class(kind, queue):
    found = run(
        kind,
        "1",
        devices=None,
        settings={"underlay": {kind: {"cpus": "1"}, "features": {"gro": True}}, "bridge": {}},
        classes={"underlay": [{"name": "eth0"}], "bridge": []},
        allow=["eth0"],
    )
    assert found["changed"]
    assert queue.read_text() == "1"


@pytest.mark.parametrize(
    "item, message",
    [
        ({"name": "eth0", "netns": "red", "rps": {"cpus": "all"}}, "in another network namespace"),
        ({"name": "eth0", "rps": {"queues": "all"}}, "Give cpus, and nothing else"),
        ({"name": "eth0", "rfs": {"cpus": "all"}}, "Keys are name, netns, rps, xps"),
        ({"name": "eth7", "rps": {"cpus": "all"}}, "no queues that rps can steer"),
    ],
)
def test_what_cannot_be_steered_is_refused(item, message, tmp_path, monkeypatch):
    monkeypatch.setattr(steering_kinds, "QUEUES", str(tmp_path / "{0}" / "queues"))
    queue = tmp_path / "eth0" / "queues" / "rx-0" / "rps_cpus"
    queue.parent.mkdir(parents=True)
    queue.write_text("0\n")
    with pytest.raises(InputError, match=message):
        run("rps", "all", devices=[item])
