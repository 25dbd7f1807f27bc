# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stranger attacks every server during a whole campaign: it ends as it does alone."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest

from ansible_collections.offload.lab.tests.security import stranger
from ansible_collections.offload.lab.tests.system.lab import Lab, differences

pytestmark = pytest.mark.nightly
ADDRESSES = ("198.18.0.1", "198.18.0.2")
STRANGER = "198.18.0.77"
SERVERS = {"netperf": 12865, "payload": 12868, "sockets": 12869, "probe": 12866}
ATTACKS = ("lines", "sizes", "slow", "hang_ups", "noise")  # those that need few connections
SECONDS = 5
CAMPAIGNS = {
    "payload": {"design": "integrity", "workloads": ["payload"]},
    "netperf": {"design": "on_off", "workloads": [{"name": "s", "test": "TCP_STREAM"}]},
    "sockets": {
        "design": "on_off",
        "workloads": [{"name": "s", "test": "TCP_RR", "engine": "sockets"}],
    },
}


@pytest.fixture(name="lab", scope="module")
def _lab(lab_packages_required, request):
    lab = Lab("systest-attacked")
    lab.clear()
    request.addfinalizer(lab.clear)
    lab.up()
    fabric = ["ip", "-n", f"{lab.name}-fabric"]
    links = json.loads(subprocess.check_output([*fabric, "-j", "link", "show", "type", "bridge"]))
    device = links[0]["ifname"]
    subprocess.run([*fabric, "address", "add", f"{STRANGER}/24", "dev", device], check=True)
    return lab


class Attackers:
    """One thread for each attack, which attacks one server after the other until it is stopped."""

    def __init__(self, lab):
        self.enter = ["ip", "netns", "exec", f"{lab.name}-fabric", sys.executable]
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.attack, args=(name,)) for name in ATTACKS]
        self.attacked = []  # (port, bytes that the server sent)

    def attack(self, name):
        while not self.over.is_set():
            for port in SERVERS.values():
                for address in ADDRESSES:
                    argv = [stranger.__file__, name, address, str(port), str(SECONDS)]
                    done = subprocess.run(
                        [*self.enter, *argv], capture_output=True, text=True, check=False
                    )
                    if done.returncode == 0:
                        self.attacked.append((port, int(done.stdout)))
                    if self.over.is_set():
                        return

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_error):
        self.over.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_campaign_is_measured_as_without_a_stranger(lab, tmp_path, name):
    before = lab.state()
    campaign = {
        "name": name,
        "blocks": 2,
        "paths": ["physical"],
        "factors": ["gro"],
        "duration": 1,
        **CAMPAIGNS[name],
    }
    with Attackers(lab) as attackers:
        lab.play("measure report", campaign=campaign, results_dir=str(tmp_path), timeout=1500)
    assert {port for port, _received in attackers.attacked} == set(SERVERS.values())
    answered = [port for port, received in attackers.attacked if received]
    assert set(answered) <= {SERVERS["probe"]}  # it greets each connection
    lines = (tmp_path / name / "trials.jsonl").read_text().splitlines()
    errors = [trial["error"] for trial in map(json.loads, lines)]
    assert errors and not any(errors), errors
    assert list(differences(before, lab.state())) == []
    if name == "payload":
        path_results = json.loads((tmp_path / name / "analysis.json").read_text())["payload"][
            "paths"
        ]
        assert [row["verdict"] for row in path_results] == ["clean"]
