# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.modules import rps


@pytest.fixture
def queue(tmp_path, monkeypatch):
    monkeypatch.setattr(rps.node_state, "QUEUES", str(tmp_path / "{0}" / "queues"))
    monkeypatch.setattr(rps.management, "find", lambda: ["eth0"])
    path = tmp_path / "eth0" / "queues" / "rx-0" / "rps_cpus"
    path.parent.mkdir(parents=True)
    path.write_text("0\n")
    return path


def run(cpus, allow=(), check_mode=False):
    return rps.converge(
        SimpleNamespace(
            check_mode=check_mode,
            params={"devices": ["eth0"], "cpus": cpus, "allow_management_device": list(allow)},
        )
    )


@pytest.mark.parametrize("check_mode", [True, False])
def test_the_management_device_is_refused(queue, check_mode):
    with pytest.raises(InputError, match="eth0: carries the controller's connection"):
        run("1", check_mode=check_mode)
    assert queue.read_text() == "0\n"


def test_it_is_changed_where_it_is_allowed(queue):
    assert run("1", allow=["eth0"])["devices"] == {"eth0": {"rx-0/rps_cpus": "1"}}
    assert queue.read_text() == "1"


def test_one_that_stays_as_it_is_may_be_named(queue):
    assert not run("off")["changed"]
