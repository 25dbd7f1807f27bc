# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel counts of errors, read from texts of Linux 6.1 and 6.18."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._host import netlink
from ansible_collections.offload.lab.plugins.module_utils._observe import errors_seen

SNMP = """\
Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors InDiscards OutDiscards ReasmFails FragFails
Ip: 2 64 100 1 7 2 3 4 5
Tcp: RtoAlgorithm RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 11 12 13 14
Udp: InDatagrams InErrors RcvbufErrors SndbufErrors InCsumErrors
Udp: 1 21 22 23 24
"""
DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 3290 30 0 0 0 0 0 0 3290 30 0 0 0 0 0 0
  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
"""


def test_counters_of_the_protocols():
    rows_by_protocol = errors_seen.parse_rows(SNMP)
    assert rows_by_protocol == {
        "IpInHdrErrors": 1,
        "IpInDiscards": 2,
        "IpOutDiscards": 3,
        "IpReasmFails": 4,
        "IpFragFails": 5,
        "TcpRetransSegs": 11,
        "TcpInErrs": 12,
        "TcpInCsumErrors": 14,
        "UdpInErrors": 21,
        "UdpRcvbufErrors": 22,
        "UdpSndbufErrors": 23,
        "UdpInCsumErrors": 24,
    }
    assert errors_seen.parse_list("Ip6InReceives   9\nUdp6InCsumErrors \t3\n") == {
        "Udp6InCsumErrors": 3
    }


def test_counters_of_devices_and_of_the_backlog():
    assert errors_seen.parse_devices(DEV)["eth0"] == {
        "rx_errors": 3,
        "rx_dropped": 4,
        "tx_errors": 11,
        "tx_dropped": 12,
    }
    softnet = "00000010 00000002 00000001 0\n00000020 0000000a 00000000 0\n"
    assert errors_seen.parse_softnet(softnet) == {"softnet_dropped": 12, "softnet_squeezed": 1}


@given(st.text(alphabet="IpTcUd:nErsCuDia0123456789f \n\t-", max_size=300))
def test_no_text_stops_them(text):
    for parse in (
        errors_seen.parse_rows,
        errors_seen.parse_list,
        errors_seen.parse_devices,
        errors_seen.parse_softnet,
    ):
        assert isinstance(parse(text), dict)


def test_a_device_that_is_gone_has_no_counters():
    counters = errors_seen.read(
        [{"name": "lo"}, {"name": "no-such"}, {"name": "a", "netns": "none"}]
    )
    assert "lo rx_errors" in counters and "softnet_dropped" in counters
    assert not any("no-such" in name or name.startswith("none/") for name in counters)


def test_alarms_are_picked_from_the_log(tmp_path):
    """A file stands for /dev/kmsg: like it, it is read from where it ended."""
    path = tmp_path / "kmsg"
    path.write_text("6,1,1,-;NETDEV WATCHDOG: eth9: old\n")
    log = errors_seen.KernelLog(str(path))
    with open(path, "a") as stream:
        stream.write("3,2,2,-;e1000e 0000:00:1f.6 eth0: Detected Hardware Unit Hang\n")
    assert log.alarms() == ["e1000e 0000:00:1f.6 eth0: Detected Hardware Unit Hang"]
    assert log.alarms() == []
    assert errors_seen.KernelLog(str(tmp_path / "none")).alarms() == []


@pytest.mark.parametrize(
    "message",
    [
        "NETDEV WATCHDOG: eth0 (igb): transmit queue 0 timed out 5000 ms",
        "e1000e 0000:00:1f.6 eth0: Detected Hardware Unit Hang:",
        "eth0: hw csum failure",
        "ixgbe 0000:01:00.0 eth1: Reset adapter",
        "igb 0000:02:00.0 eth0: igb: eth0 NIC Link is Down",
    ],
)
def test_what_an_alarm_is(message):
    assert errors_seen.ALARMS.search(message)
    assert not errors_seen.ALARMS.search("eth0: entered promiscuous mode")


def answer(**counters):
    """Return the attributes of an answer of family netdev."""
    numbers = {name: kind for kind, name in netlink.COUNTERS.items()}
    parts = [netlink.attribute(netlink.IFINDEX, (7).to_bytes(4, "little"))]
    for name, value in counters.items():
        kind = numbers[name.replace("_", "-")]
        parts.append(netlink.attribute(kind, value.to_bytes(8, "little")))
    return b"".join(parts)


def test_queue_statistics_of_a_device():
    assert netlink.counters_of(answer(rx_csum_bad=3, tx_hw_gso_packets=2**40)) == (
        7,
        {"rx-csum-bad": 3, "tx-hw-gso-packets": 2**40},
    )
    assert isinstance(netlink.queue_counters(), dict)


@given(st.binary(max_size=200))
def test_no_answer_of_netlink_stops_it(data):
    for _kind, content in netlink.messages(data):
        netlink.counters_of(content)
    index, counters = netlink.counters_of(data)
    assert index >= 0 and all(value >= 0 for value in counters.values())
