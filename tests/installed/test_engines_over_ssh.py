# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign of each engine on two hosts over SSH with sudo, where systemd runs: its servers have no
privileges and a scope each, and its dead man's switch is a service that systemd starts again.
"""

from __future__ import annotations

import json
import threading
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._restore.dead_man import UNIT
from ansible_collections.offload.lab.tests.installed.two_hosts import NODES
from ansible_collections.offload.lab.tests.security.seen_servers import (
    PROCESSES,
    WORKLOADS,
    check_servers,
    is_server,
)

pytestmark = pytest.mark.nightly  # installs packages on two hosts, and measures
CAMPAIGN = """\
name: {name}
design: {design}
blocks: 3
paths: [{paths}]
factors: [tso, gro]
workloads: [{workload}]
duration: 2
"""
CAP_SYS_RESOURCE = 24  # a container on some machines has it not
ARMED_S = 8  # from the start of a switch: it is armed then
SWITCH = f"{UNIT}.service"


def processes(hosts, node):
    return json.loads(hosts.inside(node, "python3", "-I", "-c", PROCESSES))


class Watch(threading.Thread):
    """Keeps the servers that it sees on both hosts, and kills the first switch once it is armed."""

    def __init__(self, hosts):
        super().__init__(daemon=True)
        self.hosts = hosts
        self.over = threading.Event()
        self.since = {}  # when a switch was seen first
        self.servers = []
        self.switches = {node: [] for node in NODES}

    def run(self):
        while not self.over.wait(1):
            for node in NODES:
                running = processes(self.hosts, node)
                self.servers += filter(is_server, running)
                self.watch_switch(
                    node, [process for process in running if process["unit"] == SWITCH]
                )

    def watch_switch(self, node, running):
        kept = self.switches[node]
        kept += [
            process
            for process in running
            if process["number"] not in {old["number"] for old in kept}
        ]
        if kept and time.monotonic() - self.since.setdefault(node, time.monotonic()) < ARMED_S:
            return
        if len(kept) == 1:
            self.hosts.inside(node, "kill", "-KILL", str(kept[0]["number"]), rc=None)


@pytest.fixture(name="user")
def _user(hosts, play, collections, tmp_path):
    hosts.furnish(tmp_path, collections, "")

    def run(playbook, *arguments):
        options = ("-i", "my_hosts", "--become-password-file", "password", *arguments)
        status, output = play(playbook, *options, timeout=1800)
        assert status == 0, output[max(0, output.find("fatal: ") - 1000) :][-6000:]
        return output

    yield run
    run("teardown")


@pytest.mark.parametrize("name", WORKLOADS)
def test_servers_of_each_engine_have_no_privileges(hosts, user, tmp_path, name):
    engine = name if name in ("iperf3", "sockets") else "netperf"  # what the lab installs
    engine_option = ("-e", f"offload_lab_engine={engine}")
    user("lab", *engine_option)
    before = {node: hosts.features(node) for node in NODES}
    design = "integrity" if name == "payload" else "on_off"
    file = tmp_path / f"{name}.yml"
    # Datagrams of tenants arrive wrong with Open vSwitch 3.1 without the kernel datapath.
    paths = "physical" if name == "payload" else "physical, tenant_vxlan"
    values = {"name": name, "design": design, "paths": paths, "workload": WORKLOADS[name]}
    file.write_text(CAMPAIGN.format(**values))
    watch = Watch(hosts)
    watch.start()
    user("measure", *engine_option, "-e", f"offload_lab_campaign_file={file.name}")
    watch.over.set()
    watch.join()
    lines = (tmp_path / f"results/{name}/trials.jsonl").read_text().splitlines()
    trials = [json.loads(line) for line in lines]
    assert trials and not [trial["error"] for trial in trials if trial["error"]]
    assert {node: hosts.features(node) for node in NODES} == before
    check(name, watch)


def check(name, watch):
    """Check what was seen of a campaign's servers."""
    print(name, sorted({(server["name"], server["unit"]) for server in watch.servers}))
    check_servers(watch.servers)
    for switches in watch.switches.values():
        assert len(switches) > 1, "systemd did not start the switch again"
        for switch in switches:
            may_be_spared = switch["capabilities"] >> CAP_SYS_RESOURCE & 1
            assert switch["oom"] < 0 or not may_be_spared, switch
