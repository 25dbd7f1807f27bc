#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: netperf
short_description: Run one measurement
version_added: 0.1.0
description:
  - Runs one test of netperf, or of another engine, from the host of the task to a netserver and returns its numbers.
  - Several streams start together, and their rates are summed over the time in which all of them run.
  - The task fails with the reason when the measurement fails or no netserver answers.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.action
  - offload.lab.attributes
  - offload.lab.engine
attributes:
  check_mode:
    support: full
    details: It returns the command lines, and measures nothing.
  diff_mode:
    support: none
options:
  address:
    description: The address of the netserver.
    type: str
    required: true
  port:
    description: Its TCP port.
    type: int
    default: 12865
  local:
    description: The address to measure from.
    type: str
  netns:
    description: The network namespace to measure from.
    type: str
  token:
    description:
      - The token of the netserver, which M(offload.lab.netserver) returns.
      - A netserver that another program has started needs none.
    type: str
  test:
    description:
      - The test, V(TCP_STREAM), V(TCP_MAERTS), V(UDP_STREAM), V(TCP_RR), V(UDP_RR) or V(TCP_CRR), by
        netperf's names, or V(TCP_LOADED_RR), requests while streams run.
    type: str
    default: TCP_STREAM
  engine:
    description:
      - What makes the load. By default V(netperf), V(payload) for the test V(PAYLOAD), and V(sockets) for the test
        V(TCP_LOADED_RR).
      - V(iperf3) has no requests, no O(confidence) and no percentiles. Its servers come from
        M(offload.lab.netserver) with the same engine.
      - V(sockets) is Python alone. It has no O(confidence), but the 99.9th percentile of latencies, and percentiles of
        several streams.
  duration:
    description: Duration of the measurement in seconds, 1 to 86400.
    type: int
    default: 10
  streams:
    description: Number of processes that run simultaneously, 1 to 1000.
    type: int
    default: 1
  bidirectional:
    description: Adds a TCP_MAERTS for each TCP_STREAM.
    type: bool
    default: false
  message_size:
    description: Bytes of each send call, such as V(16384) or V(16K). Only for streams.
    type: str
  receive_size:
    description: Bytes of each receive call. Only for streams.
    type: str
  send_socket:
    description: Requested size of the sending socket in bytes.
    type: str
  recv_socket:
    description: Requested size of the receiving socket in bytes.
    type: str
  request_size:
    description: Bytes of a request. Only for TCP_RR, UDP_RR, TCP_CRR and TCP_LOADED_RR.
    type: str
  response_size:
    description: Bytes of a response. Only for TCP_RR, UDP_RR, TCP_CRR and TCP_LOADED_RR.
    type: str
  rate_mbps:
    description: The most that each stream sends, in Mbit/s. With O(engine=iperf3) and O(engine=sockets) only.
    type: float
  udp_segment:
    description: Whether one call of a UDP_STREAM sends many datagrams, which the kernel cuts (UDP_SEGMENT). With
      O(engine=sockets), where it is true by default, and with O(engine=iperf3) from 3.21 on, for both or none.
    type: bool
  udp_gro:
    description: Whether one call of a UDP_STREAM's receiver takes in many datagrams, which the kernel joins (UDP_GRO).
      With the same engines as O(udp_segment).
    type: bool
  zero_copy:
    description: Whether streams send without copying, with MSG_ZEROCOPY of O(engine=sockets), or sendfile(2) of
      O(engine=iperf3), for TCP_STREAM.
    type: bool
  skip_rx_copy:
    description: Whether the receiver discards the data in the kernel (MSG_TRUNC). With O(engine=iperf3) from 3.19 on.
    type: bool
  mptcp:
    description: Whether streams use Multipath TCP. With O(engine=iperf3) from 3.19 on.
    type: bool
  congestion_control:
    description: The algorithm of TCP at both ends, such as V(cubic). By default the system's own.
    type: str
  confidence:
    description:
      - Repeats the test until the confidence interval of the mean is narrow enough. C(level) is V(95) or V(99),
        C(width_percent) is the whole interval in per cent of the mean, C(iterations_min) and C(iterations_max) are
        3 to 30.
    type: dict
  cpu:
    description: With O(engine=netperf), asks netperf for the CPU use of both ends.
    type: bool
    default: true
  interim:
    description:
      - Seconds between interim results, which show when each stream really ran. V(0) turns them off. By default ten, at
        least one a second. Not together with O(confidence).
    type: float
  warm_up:
    description:
      - Seconds of traffic before the counted time, 0 to 600, on top of O(duration). By default V(4) with more than
        eight processes, else V(0). Not with UDP_STREAM or O(confidence).
    type: int
notes:
  - Needs root to enter a namespace.
seealso:
  - module: offload.lab.netserver
  - module: offload.lab.visit
  - plugin: offload.lab.parse_netperf
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Measure one TCP stream for 5 seconds
  offload.lab.netperf:
    address: 198.18.0.2
    token: "{{ hostvars['node2'].servers.token }}"
    duration: 5
  register: measured

- name: Show the throughput in Mbit/s
  ansible.builtin.debug:
    var: measured.result.throughput_mbps

- name: Measure with iperf3, at most 500 Mbit/s
  offload.lab.netperf:
    address: 198.18.0.2
    engine: iperf3
    rate_mbps: 500

- name: Count transactions between two tenants
  offload.lab.netperf:
    test: TCP_RR
    netns: tenant1
    local: 192.168.10.1
    address: 192.168.10.2
"""

RETURN = r"""
result:
  description:
    - The numbers. C(throughput_mbps) is what arrived, C(throughput_sent_mbps) what UDP_STREAM sent,
      C(transactions_per_s) of a request and response test, C(latency_us), C(retransmits), C(mss), C(confidence_met) and
      others, see C(docs/data-format.md).
  returned: when not in check mode
  type: dict
  sample: {throughput_mbps: 9410.2, transactions_per_s: null, mss: 8948, retransmits: 0}
commands:
  description: The command line of each stream.
  returned: success
  type: list
  elements: str
  sample: ["netperf -H 198.18.0.2,4 -t TCP_STREAM -l 5"]
outputs:
  description: What the process of each stream printed.
  returned: when not in check mode
  type: list
  elements: str
  sample: ["THROUGHPUT=9410.20\nTHROUGHPUT_UNITS=10^6bits/s\n"]
started:
  description: When it began, in seconds since the epoch.
  returned: when not in check mode
  type: float
  sample: 1767600000.5
finished:
  description: When it ended, in seconds since the epoch.
  returned: when not in check mode
  type: float
  sample: 1767600005.6
"""
