#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: visit
short_description: Measure the cells of a visit and record each trial immediately
version_added: 0.1.0
description:
  - Runs netperf on the client for every cell of a visit of a campaign, or for a plain list of cells. For one
    measurement M(offload.lab.netperf) is simpler.
  - Works in chunks of about O(chunk_seconds) seconds of measuring, one module call a chunk. The raw texts come back to
    the controller, are parsed there, and each trial is appended to O(record) and synced to the disk immediately.
  - Cells in O(record) are not measured again. The client keeps each in O(spool) until a controller has recorded it.
  - When a plan's controller goes away, netperf ends, and M(offload.lab.dead_man_switch) restores both ends immediately.
  - A cell that fails or does not end becomes a trial with its error, and the others go on.
  - With O(probe) each trial gets the CPU time of both ends, taken in one window over the time in which all its streams
    run.
  - Before a list of cells is measured, and with O(collect) before a plan is, it is checked that netperf is there and
    that every netserver answers.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.action
  - offload.lab.attributes
  - offload.lab.probe
attributes:
  check_mode:
    support: full
    details: It returns what would be measured, and measures nothing.
  diff_mode:
    support: none
options:
  plan:
    description:
      - Path of the campaign's C(plan.json), on the controller. Exactly one of O(plan), O(cells) and O(step) is needed.
    type: path
  step:
    description:
      - A step of role C(measure), as M(offload.lab.steps) returns it. All other options but O(chunks) and O(spool)
        follow from it and from the variables of that role.
      - It may set the profile, as M(offload.lab.ethtool) does, and return what that returns. A client then measures
        with its partners as soon as they have the profile.
    type: dict
  mtu:
    description: With O(plan), the visit's MTU of the underlay in bytes. Needed where the plan has several.
    type: int
  block:
    description: Number of the block of O(plan) to measure, from 1.
    type: int
  visit:
    description:
      - Number of the visit in the block, from 1. Trials that the machine spoilt are measured again immediately,
        within the plan's C(remeasure), under a number beyond the block's visits.
    type: int
  cells:
    description: What to measure, in this order. Filled from O(plan) when that is given.
    type: list
    elements: dict
    suboptions:
      id:
        description: Name of the cell, unique in the record, of up to 100 letters, digits and C(_.:@+-).
        type: str
        required: true
      workload:
        description:
          - The load. C(test) is V(TCP_STREAM), V(TCP_MAERTS), V(UDP_STREAM), V(TCP_RR), V(UDP_RR), V(TCP_CRR),
            V(TCP_LOADED_RR) or V(PAYLOAD), C(engine) what makes it, as in M(offload.lab.netperf), which has
            C(rate_mbps), C(congestion_control), C(udp_segment), C(udp_gro), C(zero_copy), C(skip_rx_copy) and C(mptcp)
            too.
          - C(duration) in whole seconds, 1 to 86400, default 10.
          - C(streams), 1 to 1000, default 1, is the number of processes. They start together and are dealt in turn to
            the first C(tenants) endpoints, 1 to 1000, default 1.
          - C(bidirectional) adds as many TCP_MAERTS to a TCP_STREAM.
          - C(message_size) and C(receive_size) in bytes, of the calls that send and receive.
          - C(send_socket) and C(recv_socket) in bytes, the socket sizes asked for at the sending and at the receiving
            end, and for request and response of the client and the server.
          - C(request_size) and C(response_size) in bytes. Sizes may be V(16K) or V(1M), multiples of 1024.
          - C(confidence) is a mapping of C(level), V(95) or V(99), C(width_percent), the whole interval in percent of
            the mean (so V(5) is plus or minus 2.5 percent), C(iterations_min) and C(iterations_max), 3 to 30.
          - C(cpu) asks netperf for the CPU use of both ends, default true.
          - C(interim) in seconds asks for interim results, which show when each stream really ran. By default ten, at
            least one a second. V(0) is none. Not together with C(confidence).
          - C(warm_up) in whole seconds, 0 to 600, is traffic before the counted time, on top of C(duration). By
            default V(4) with more than eight processes, else V(0). Not with UDP_STREAM or C(confidence).
        type: dict
        required: true
      endpoints:
        description:
          - Between what to measure. Each has C(address) and C(port) of a netserver, default 12865.
            Optional are C(local), the client's address, C(netns), the client's network namespace, and C(data_port), the
            server's port of the first stream's data, by default C(port) plus 5. Clients that use one netserver at the
            same time need ports that differ.
        type: list
        elements: dict
        required: true
      path:
        description: The way the traffic goes; copied to the record.
        type: str
      profile:
        description: What the nodes are set to; copied to the record.
        type: str
      mtu:
        description: MTU of the underlay in bytes; copied to the record.
        type: int
      pair:
        description: The two nodes; copied to the record.
        type: str
  endpoints:
    description:
      - With O(plan), the ends of each path. C(client) and C(server) map the name of a path to C(address), C(netns), and
        C(all), a list of C(address) and C(netns) where there are several tenants.
      - Stream number n runs between the n-th of the client and the n-th of the server.
    type: dict
  devices:
    description:
      - With O(plan), the devices of C(client) and C(server) by class, as M(offload.lab.lab_node) returns them. The
        paths of O(sampling) and the devices of O(watch) follow from them.
    type: dict
  port:
    description: With O(plan), the netservers' TCP port.
    type: int
    default: 12865
  record:
    description: Path of C(trials.jsonl), on the controller. Without it RV(trials) are returned, for a few cells only.
    type: path
  campaign:
    description: Name of the campaign; the plan's by default.
    type: str
    default: netperf
  client:
    description: Name of the client in the record; the name in the inventory by default.
    type: str
  server:
    description: Name of the server in the record.
    type: str
  chunk_seconds:
    description: How many seconds of measuring go into one module call, 1 to 3600.
    type: int
    default: 150
  chunks:
    description: How many chunks are measured at most, V(0) for all.
    type: int
    default: 0
  collect:
    description:
      - Ends what an earlier controller left measuring on the client, and records what it had finished.
      - Use it before the first profile is applied, so that nothing is measured under the wrong one.
      - Without O(cells), O(block) and O(visit) nothing is measured.
    type: bool
    default: false
  forwarder:
    description:
      - The host that forwards packets between the client and the server, where one does. It is asked as the server is.
      - With O(plan), C(devices) are its devices by class.
    type: dict
    suboptions:
      address:
        description: The address of its probe.
        type: str
        required: true
      port:
        description: The TCP port of its probe.
        type: int
        default: 12866
      token:
        description: The token of its probe.
        type: str
        required: true
      name:
        description: Its name in the record.
        type: str
      devices:
        description: Its devices by class.
        type: dict
  sampling:
    description:
      - With O(probe), sample packets before the first cell, as M(offload.lab.evidence) does and with its options
        C(paths), C(tests), C(seconds), C(vxlan_port). With O(devices) leave out C(paths). Each trial keeps the samples.
      - This saves a task of M(offload.lab.evidence). If no cell is left to measure, nothing is sampled.
    type: dict
    suboptions:
      tests:
        description: The directions of the streams that are sampled, from the client with V(TCP_STREAM).
        type: list
        elements: str
        choices: [TCP_STREAM, TCP_MAERTS]
        default: [TCP_STREAM]
      seconds:
        description: How many seconds a sample takes at most, 0.05 to 10.
        type: float
        default: 0.3
      vxlan_port:
        description: The UDP port of VXLAN.
        type: int
        default: 4789
      paths:
        description: The paths, as in M(offload.lab.evidence).
        type: list
        elements: dict
      engine:
        description: Whose streams are sampled. Set by the part on the controller.
        type: str
      datagrams:
        description: The workload whose datagrams are sampled, too. Set by the part on the controller.
        type: dict
  watch:
    description:
      - With O(probe), the devices whose features must not change during a trial. C(client) and C(server) are lists of
        C(name) and, inside a namespace, C(netns).
    type: dict
  evidence:
    description:
      - What was learned at the visit and is kept with each of its trials. C(settings) by end (V(client), V(server)) is
        the C(devices) of M(offload.lab.ethtool), C(underlay) names the underlay device by end, C(uplink) the uplink,
        C(tunnel_by_uplink) says whether that carries the tunnel's packets, C(packets) is the one of
        M(offload.lab.evidence) where O(sampling) does not sample them.
      - Of tenants that are hosts C(homes) names the node by end, and C(home_settings) is what
        M(offload.lab.ethtool) returned there.
    type: dict
  expect:
    description: What the guards compare each trial with.
    type: dict
    suboptions:
      vni:
        description: The network identifier of the tunnel, or its key.
        type: int
      underlay_ip:
        description: The IP version of the underlay.
        type: int
        choices: [4, 6]
        default: 4
      ipv6_paths:
        description: The paths whose ends have IPv6 addresses.
        type: list
        elements: str
        default: []
      tag:
        description: The bytes of a VLAN tag inside the tunnel.
        type: int
        default: 0
      timestamps:
        description: Whether TCP carries timestamps.
        type: bool
        default: true
      speed_mbps:
        description: The speed of the line in Mbit/s, V(0) for a device without one.
        type: int
        default: 0
  token:
    description: The token of the servers, which M(offload.lab.netserver) returns. Servers of others need none.
    type: str
  chunk:
    description: Name of the chunk in the spool. Set by the part on the controller.
    type: str
  reach:
    description: Endpoints that must answer before anything is measured. Set by the part on the controller.
    type: list
    elements: dict
    default: []
  engines:
    description: Engines whose servers must answer there. Set by the part on the controller.
    type: list
    elements: str
    default: [netperf]
  spool:
    description: Folder of the spool on the client.
    type: path
    default: /var/lib/offload-lab/spool
notes:
  - Namespaces are entered, and the spool is written, as root.
seealso:
  - module: offload.lab.netperf
  - module: offload.lab.steps
  - module: offload.lab.netserver
  - plugin: offload.lab.parse_netperf
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Measure one TCP stream for 5 seconds
  offload.lab.visit:
    cells:
      - id: first
        workload: {test: TCP_STREAM, duration: 5, message_size: 16384}
        endpoints: [{address: 198.18.0.2}]
  register: measured

- name: Measure the second visit of the third block of a campaign
  offload.lab.visit:
    plan: "{{ playbook_dir }}/results/demo/plan.json"
    block: 3
    visit: 2
    record: "{{ playbook_dir }}/results/demo/trials.jsonl"
    endpoints:
      client: "{{ offload_lab_endpoints }}"
      server: "{{ hostvars['node2'].offload_lab_endpoints }}"
    server: node2

- name: Record what an earlier controller left behind
  offload.lab.visit:
    plan: "{{ playbook_dir }}/results/demo/plan.json"
    record: "{{ playbook_dir }}/results/demo/trials.jsonl"
    collect: true
"""

RETURN = r"""
measured:
  description: Number of trials recorded by this task.
  returned: success
  type: int
  sample: 4
failed_trials:
  description: Number of these trials that have an error.
  returned: success
  type: int
  sample: 0
skipped_trials:
  description: Number of cells that were in the record already.
  returned: success
  type: int
  sample: 0
collected:
  description: Number of these trials that an earlier controller had left on the client.
  returned: success
  type: int
  sample: 0
planned:
  description: What would be measured, by cell the command lines.
  returned: in check mode
  type: dict
  sample: {first: ["netperf -H 198.18.0.2,4 -t TCP_STREAM -l 5"]}
trials:
  description: The trials in full.
  returned: without O(record)
  type: list
  elements: dict
  sample: [{id: first, result: {throughput_mbps: 9410.2}, error: null}]
progress:
  description: How far the campaign is, as it was shown last.
  returned: where trials of a plan were measured
  type: str
  sample: "node1-node2: block 3/10 visit 4/12 [tso=off], 12 min left"
sampled_s:
  description: Seconds that O(sampling) took, 0 where nothing was sampled.
  returned: success
  type: float
  sample: 0.81
"""

import contextlib
import itertools
import os
import time
from typing import Any, Callable, Dict, Iterable, List, Tuple

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import LabError
from ..module_utils._engines import workload
from ..module_utils._engines.engine import Endpoint, Load
from ..module_utils._engines.engines import engine_named
from ..module_utils._host.module import Options, Returned, run_module
from ..module_utils._host.waiting import wait_until
from ..module_utils._load import run, spool
from ..module_utils._load.spec import PROBE, SPEC, STEP
from ..module_utils._observe import evidence, trial_watch
from ..module_utils._observe.probe import Probe
from ..module_utils._observe.trial_watch import BothEnds
from ..module_utils._restore import sign_of_life, strikes

UNREACHABLE = (LabError, OSError, ValueError, KeyError)  # what a probe that cannot be asked raises
UNSEEN = "The trials of this visit have no evidence of that node."
Checked = Tuple[Dict[str, Any], Load, List[Endpoint]]  # name, workload, endpoints


def checked(cells: list[dict[str, Any]] | None) -> list[Checked]:
    """Return [(name, workload, endpoints)], all checked before anything runs; a name is id and
    pair.
    """
    ready = []
    for cell in cells or ():
        name = {"id": cell["id"], "pair": cell["pair"]}
        ends = list(map(workload.endpoint, cell["endpoints"]))
        ready.append((name, workload.checked(cell["workload"]), ends))
    return ready


def planned(cells: list[Checked]) -> dict[str, list[str]]:
    """Return the command lines by cell."""
    lines_of = {}
    for name, load, ends in cells:
        lines_of[name["id"]] = [" ".join(line.argv) for line in workload.lines(load, ends)]
    return lines_of


def watcher(
    params: Options, server: Probe | None, forwarder: Probe | None
) -> Callable[[], BothEnds | None]:
    """Return a function that makes the watch of one trial; without a probe nothing is watched."""
    devices = params["watch"] or {}
    between = {"forwarder": (forwarder, devices.get("forwarder") or [])} if forwarder else None
    return lambda: (
        BothEnds(server, devices.get("client") or [], devices.get("server") or [], between)
        if server
        else None
    )


def server_state(
    row: dict[str, Any], load: Load, ends: list[Endpoint], server: Probe | None
) -> dict[str, bool]:
    """Return ``{"server_answers": False}`` where a trial ended early and a server does not answer
    on its own node: then the trial says nothing of the path.
    """
    engine = engine_named(load["engine"])
    early = row["error"] or any(engine.ended_early(stream["raw"]) for stream in row["streams"])
    if not server or not early:
        return {}
    for server_at in {(end["address"], end["port"] + engine.port_offset) for end in ends}:
        try:
            answer = server.ask("serves", address=server_at[0], port=server_at[1])
        except (LabError, OSError):
            return {}
        if answer["serves"] is False:
            return {"server_answers": False}
    return {}


def strike_at(server: Probe | None) -> strikes.Strike | None:
    """Return the strike of the dead man's switch at this end or the other one, None without any; raises
    one of UNREACHABLE where the other end cannot be asked.
    """
    strike = strikes.current()
    if strike:
        return strike
    if server is None:
        raise LabError(
            "the other end has no probe that answers",
            "probe",
            "Open its port, or run playbook lab.",
        )
    there: dict[str, strikes.Strike | None] = server.ask("strike")
    return there["strike"]


def strike_before(server: Probe | None) -> strikes.Strike | None:
    """Return the strike that is known before a trial, or when all are over."""
    with contextlib.suppress(*UNREACHABLE):
        return strike_at(server)
    return strikes.current()


def strike_after(
    params: Options, server: Probe | None, row: dict[str, Any]
) -> strikes.Strike | None:
    """Return the strike that a trial, which has just ended, has met.

    Where the other end cannot be asked, this end's switch may see the same in a moment. It does not
    where all addresses answer that it watches: the fault stops TCP alone, or the other end has restored
    itself. Then the other end answers over a new connection.
    """
    with contextlib.suppress(*UNREACHABLE):
        return strike_at(server)
    if row["error"] and not strikes.all_answer():
        wait_until(lambda: strikes.current() is not None, patience=sign_of_life.HARM_S)
    return strikes.current() or strike_asked_again(params)


def strike_asked_again(params: Options) -> strikes.Strike | None:
    """Return the strike of the other end, None where it does not answer now either."""
    if not params["probe"] or not strikes.are_expected():
        return None
    with contextlib.suppress(*UNREACHABLE):
        return strike_at(Probe(**params["probe"], timeout=RESTORED_S, patience=PROBE_S))
    return None


def not_run(strike: strikes.Strike) -> dict[str, Any]:
    """Return the row of a cell that is not run, because the node no longer has the visit's profile."""
    now = time.time()
    return {"started": now, "finished": now, "streams": [], "error": strike["reason"]}


def of_strike(strike: strikes.Strike, ends: list[Endpoint]) -> dict[str, str]:
    """Return what a strike is for a cell: its path stopped answering, or another path did and the
    profile was taken back meanwhile.
    """
    addresses = {end["address"] for end in ends} | {end["local"] for end in ends}
    key = "path_stopped" if strike["address"] in addresses else "interrupted"
    return {key: strike["reason"]}


def measured(
    params: Options,
    cell: Checked,
    watch: Callable[[], BothEnds | None],
    server: Probe | None,
) -> dict[str, Any]:
    """Run one cell and return its row; a strike before, in or after it is part of the row."""
    name, load, ends = cell
    tested = path_is_tested(params)
    strike = strike_before(server) if tested else None
    if strike:
        row = not_run(strike)
    else:
        row = run.run_cell(load, ends, watch(), params["token"] or "")
        row.update(server_state(row, load, ends, server))
        strike = strike_after(params, server, row) if tested else None
    return {**row, **name, **(of_strike(strike, ends) if strike else {})}


def measure(
    module: AnsibleModule,
    cells: list[Checked],
    chunk: spool.Chunk | None,
    watch: Callable[[], BothEnds | None],
    server: Probe | None,
) -> list[spool.Trial]:
    """Run the cells one after the other; each is in the spool before the next begins."""
    done = []
    for cell in cells:
        row = measured(module.params, cell, watch, server)
        done.append(row)
        try:
            if chunk:
                chunk.append(row)
        except OSError as error:
            module.warn(f"The spool cannot be written ({error}); the trials are returned anyway.")
            chunk = None
        if sign_of_life.fired() is not None:
            break  # what comes next would not have the visit's profile
    return done


def between(params: Options) -> dict[str, Any]:
    """Return what the forwarder's probe needs; empty where there is no forwarder."""
    return {key: params["forwarder"][key] for key in PROBE} if params["forwarder"] else {}


def path_is_tested(params: Options) -> bool:
    """Return whether the campaign asks only what becomes of the payload: then a path on which
    nothing passes is a result.
    """
    return params["engines"] == ["payload"]


# s for an answer. TCP retransmits a lost request within this time.
PROBE_S = 1.5
# s for each try to connect. A second try costs less than the 1 s after which the kernel retransmits a SYN.
CONNECT_S = (0.3, 0.6)
# s for a connection to a node that has restored itself; its addresses answer within strikes.ANSWER_S
RESTORED_S = 0.5


def probe_of(module: AnsibleModule, options: dict[str, Any] | None) -> Probe | None:
    """Return the probe of another node. In a check of the payload a node that cannot be reached is
    measured without it: the fault may break this connection, too.
    """
    if not options:
        return None
    if not path_is_tested(module.params):
        return Probe(**options)
    reason = ""
    for seconds in CONNECT_S:
        try:
            probe = Probe(**options, timeout=seconds, patience=PROBE_S)
            probe.clock()
            return probe
        except (LabError, OSError) as error:
            reason = str(error)
    module.warn(f"The probe of the other node cannot be reached ({reason}). {UNSEEN}")
    return None


def sampled(
    module: AnsibleModule, server: Probe | None, forwarder: Probe | None, dead: set[str]
) -> dict[str, Any]:
    """Return the packets of each path but those to ``dead`` addresses; nothing where the other end
    cannot be asked.
    """
    began = time.time()
    if not server or not module.params["sampling"]:
        return {}
    paths = [path for path in module.params["sampling"]["paths"] if path["address"] not in dead]
    options: Any = {**module.params["sampling"], "paths": paths, "token": module.params["token"]}
    try:
        packets = evidence.sample(options, server, forwarder)
    except OSError as error:
        if not path_is_tested(module.params):
            raise
        module.warn(f"The probe at {server.where} stopped answering ({error}). {UNSEEN}")
        return {}
    return {"packets": packets, "sampled_s": round(time.time() - began, 3)}


def sample_and_measure(module: AnsibleModule, cells: list[Checked]) -> Returned:
    params = module.params
    server = probe_of(module, params["probe"])
    forwarder = probe_of(module, between(params))
    chunk = (
        spool.Chunk(params["spool"], params["campaign"], params["chunk"])
        if params["chunk"]
        else None
    )
    watch = watcher(params, server, forwarder)
    spooled = os.path.basename(chunk.path) if chunk else None
    if path_is_tested(params):
        # A stream to sample would wait for a path on which nothing passes.
        rows = measure(module, cells, chunk, watch, server)
        samples = sampled(module, server, forwarder, unanswered(cells, rows))
        if strike_before(server) or sign_of_life.fired() is not None:
            samples = {}  # a node was restored: these packets are not of the visit's profile
    else:
        samples = sampled(module, server, forwarder, set())
        rows = measure(module, cells, chunk, watch, server)
    return {**samples, "cells": rows, "spooled": spooled}


def unanswered(cells: list[Checked], rows: list[spool.Trial]) -> set[str]:
    """Return the addresses at which no server answered a client."""
    answered: dict[str, bool] = {}
    for (_name, _load, ends), row in zip(cells, rows):
        answers = any(stream["rc"] == 0 for stream in row["streams"])
        for end in ends:
            answered[end["address"]] = answered.get(end["address"], False) or answers
    return {address for address, answers in answered.items() if not answers}


def missing(cells: list[Checked], rows: Iterable[spool.Trial]) -> list[Checked]:
    """Return the cells that have no trial."""
    measured = {(row["id"], row.get("pair")) for row in rows}
    return [cell for cell in cells if (cell[0]["id"], cell[0]["pair"]) not in measured]


def collect_and_measure(module: AnsibleModule) -> Returned:
    """Collect what is left in the spool, and measure what is not in it."""
    params = module.params
    cells = checked(params["cells"])
    if params["sampling"]:
        evidence.check(params["sampling"])
    if module.check_mode:
        return {"changed": False, "planned": planned(cells)}
    spooled = spool.collect(params["spool"], params["campaign"]) if params["collect"] else {}
    cells = missing(cells, itertools.chain.from_iterable(spooled.values()))
    if params["reach"]:
        ends = list(map(workload.endpoint, params["reach"]))
        for name in params["engines"]:
            for sentence in run.preflight(engine_named(name), ends, path_is_tested(params)):
                module.warn(sentence)
    result = {
        "changed": False,
        "left": {os.path.basename(path): rows for path, rows in spooled.items()},
        "cells": [],
    }
    if cells:
        try:
            with trial_watch.needed(params["probe"], forwarder=between(params)):
                result.update(sample_and_measure(module, cells))
        except LabError:
            sign_of_life.explain()
            raise
    return result


def main() -> None:
    run_module({**SPEC, **STEP}, collect_and_measure)


if __name__ == "__main__":
    main()
