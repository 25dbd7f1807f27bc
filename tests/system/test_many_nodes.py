# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three nodes, or eight: every tenant reaches every other, a broadcast does not loop, and pairs
measure in rounds.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, product

import pytest

from ansible_collections.offload.lab.tests.support import each_day
from ansible_collections.offload.lab.tests.system.lab import Lab, left_behind, traces

TENANTS = 2
# Pings all addresses until each has answered; prints those that have not. A ping for each would be
# 240 processes.
PING_ALL = """
import socket, struct, sys, time
waiting, deadline = set(sys.argv[1:]), time.monotonic() + 20
echo_request = struct.pack("!BBHHH", 8, 0, 0xFFFF - 0x0800 - 1, 0, 1)
pinger = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
pinger.settimeout(0.5)
while waiting and time.monotonic() < deadline:
    for address in waiting:
        pinger.sendto(echo_request, (address, 0))
    try:
        while waiting:
            packet, sender = pinger.recvfrom(1500)
            if packet[20] == 0:  # the type: an echo reply
                waiting.discard(sender[0])
    except OSError:
        pass
print(*sorted(waiting))
"""


@pytest.fixture(scope="module", params=each_day([], [3, 8]))
def lab(lab_packages_required, request):
    before = traces()
    new_lab = Lab("systestmany", request.param)
    new_lab.clear()
    new_lab.up(tenant_count=TENANTS)
    yield new_lab
    new_lab.down()
    assert left_behind(before, new_lab.name) == {}


@pytest.fixture(scope="module")
def addresses(lab):
    """Return ``{(node, tenant): address}``."""
    address_of = {}
    for node in range(1, lab.nodes + 1):
        for tenant in range(1, TENANTS + 1):
            shown = lab.inside(
                node,
                "ip",
                "-o",
                "-4",
                "addr",
                "show",
                f"tenant{tenant}-veth0",
                netns=f"tenant{tenant}",
            )
            address_of[node, tenant] = re.search(r"inet ([0-9.]+)/", shown).group(1)
    assert len(set(address_of.values())) == lab.nodes * TENANTS
    return address_of


def test_every_tenant_reaches_every_other(lab, addresses):
    def silent(tenant):
        others = sorted(set(addresses.values()) - {addresses[tenant]})
        return lab.inside(
            tenant[0], "python3", "-I", "-c", PING_ALL, *others, netns=f"tenant{tenant[1]}"
        ).split()

    with ThreadPoolExecutor(8) as pool:
        unreached = dict(zip(addresses, pool.map(silent, addresses)))
    assert {tenant: others for tenant, others in unreached.items() if others} == {}


def test_a_broadcast_arrives_once_and_does_not_loop(lab, addresses):
    """One ARP request for an address that nobody has: each tenant sees it once."""
    capture = (
        "timeout 4 tcpdump -l -n -i tenant2-veth0 'arp and arp[24:4] = 0xc0a80afe' 2>/dev/null"
    )
    listener = f"{capture} | grep -c who-has || true"
    with ThreadPoolExecutor(lab.nodes) as pool:
        heard = [
            pool.submit(lab.inside, node, "sh", "-c", listener, netns="tenant2")
            for node in range(1, lab.nodes + 1)
        ]
        sender = (
            "import time; time.sleep(2); import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); "
            "s.bind(('tenant1-veth0', 0)); "
            "s.send(b'\\xff' * 6 + b'\\x02\\0\\0\\0\\0\\x01' + b'\\x08\\x06\\0\\x01\\x08\\0\\x06\\x04\\0\\x01' + "
            "b'\\x02\\0\\0\\0\\0\\x01\\xc0\\xa8\\x0a\\x01' + b'\\0' * 6 + b'\\xc0\\xa8\\x0a\\xfe')"
        )
        lab.inside(1, "python3", "-I", "-c", sender, netns="tenant1")
        assert [int(future.result().split()[-1]) for future in heard] == [1] * lab.nodes


@pytest.mark.nightly  # which pairs share a round is tested without a lab
@pytest.mark.parametrize("lab", [8], indirect=True)
def test_pairs_that_share_no_node_measure_at_the_same_time(lab, tmp_path):
    pairs = ["node1-node2", "node1-node3", "node2-node4", "node3-node4"]  # two rounds of two
    campaign = {
        "name": "rounds",
        "pairs": pairs,
        "blocks": 1,
        "design": "on_off",
        "factors": ["tso"],
        "duration": 2,
        "paths": ["physical"],
        "workloads": ["tcp_stream"],
    }
    lab.play("measure", campaign=campaign, results_dir=str(tmp_path), evidence_seconds=0)
    trials = trials_of(tmp_path / "rounds")
    assert sorted((trial["visit"], trial["pair"]) for trial in trials) == sorted(
        product((1, 2), pairs)
    )
    shared = [
        (first["pair"], other["pair"])
        for first, other in together(trials)
        if {first["client"], first["server"]} & {other["client"], other["server"]}
    ]
    assert shared == []
    assert together(trials)


@pytest.mark.nightly  # the ports of a round are also tested without a lab
def test_pairs_that_share_a_server_have_data_ports_of_their_own(lab, tmp_path):
    """With one port for both, one netserver of UDP got the packets of both, and the other next to
    none.
    """
    campaign = {
        "name": "contention",
        "pairs": ["node1-node3", "node2-node3"],
        "concurrent": True,
        "blocks": 1,
        "design": "on_off",
        "factors": ["tso"],
        "duration": 2,
        "paths": ["physical"],
        "workloads": ["udp_stream"],
    }
    lab.play("measure", campaign=campaign, results_dir=str(tmp_path))
    trials = trials_of(tmp_path / "contention")
    assert together(trials)
    ports = {
        (trial["pair"], re.search(r" -P ,(\d+)", " ".join(trial["streams"][0]["argv"])).group(1))
        for trial in trials
    }
    assert ports == {("node1-node3", "12870"), ("node2-node3", "13870")}
    assert min(trial["result"]["throughput_mbps"] for trial in trials) > 0


def trials_of(folder):
    trials = [json.loads(row) for row in (folder / "trials.jsonl").read_text().splitlines()]
    assert [trial["error"] for trial in trials if trial["error"]] == []
    return trials


def together(trials):
    """Return the pairs of trials that overlap in time."""
    return [
        (first, other)
        for first, other in combinations(trials, 2)
        if first["started"] < other["finished"] and other["started"] < first["finished"]
    ]
