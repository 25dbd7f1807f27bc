# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The campaigns whose whole reports are kept in tests/unit/recorded/golden, one of each kind, and
those whose comparison is kept in tests/unit/recorded/compared and, over kernels, in kernels next to
it.

``make golden`` writes them again: read the diff before you commit it.
"""

from __future__ import annotations

import functools
import pathlib
import sys

from ansible_collections.offload.lab.plugins.module_utils._engines.engines import engine_named
from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.plugin_utils._across import kernels, kernels_page
from ansible_collections.offload.lab.plugins.plugin_utils._across.compare import compare_folders
from ansible_collections.offload.lab.plugins.plugin_utils._across.comparison_text import (
    console,
    documents,
)
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.nominate import nominate
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import plan_file
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.confirmation import (
    confirmation_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import with_search
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.plugins.plugin_utils._trials.import_logs import import_logs
from ansible_collections.offload.lab.tests import report_campaigns
from ansible_collections.offload.lab.tests.instruments.simulation import searching, synthetic
from ansible_collections.offload.lab.tests.report_pages import Page, manifest
from ansible_collections.offload.lab.tests.support import CHECKOUT

COMPARED = CHECKOUT / "tests/unit/recorded/compared"
KERNELS = CHECKOUT / "tests/unit/recorded/kernels"
FOLDER = CHECKOUT / "tests/unit/recorded/golden"
TEXTS = ("report.txt", "report.md", "recommended.yml", "issue.md", "daemonset.yml", "reproduce.sh")
PAGE = "page.txt"  # the words of report.html
RUN = """\
Testing with the following command line:
netperf -H 10.0.0.2 -t TCP_STREAM -l 10
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.00    {0:.2f}
"""


def own(**campaign):
    """Return the plan of a small campaign with readable names of factors."""
    keys = {
        "name": "golden",
        "duration": 1,
        "paths": ["physical"],
        "workloads": ["tcp_stream"],
        "blocks": 8,
        **campaign,
    }
    return make_plan(read_campaign(keys), "2026-01-05T08:00:00Z")


def put(folder, plan, trials, **files):
    """Write a results folder: plan, trials and, by their names, what else was decided."""
    synthetic.write(str(folder), plan, trials, manifest())
    for name, content in files.items():
        plan_file.write_plan(str(folder / f"{name}.json"), content)


def on_off(folder):
    """Two settings on one host, with the packets that each trial's kernel counted."""
    plan = synthetic.make_plan(2, name="golden")
    trials = synthetic.make_trials(plan, combined=True)
    put(folder, plan, (_counted(plan, trial) for trial in trials))


def _counted(plan, trial):
    """Return a trial with counts: the first factor lets the device cut packets, the second does
    nothing.
    """
    first = plan["factors"][0]["name"]
    cuts = plan["profiles"][trial["profile"]]["levels"][first] == "on"
    return {**trial, "crossed": synthetic.crossed(2000 if cuts else 80000, cut=cuts)}


def one_at_a_time(folder):
    """Three settings on two paths: matrices, and rows that are not shown."""
    workloads = ("tcp_stream", "tcp_rr")
    plan = synthetic.make_plan(3, design="one_at_a_time", workloads=workloads)
    put(folder, plan, synthetic.make_trials(plan, failures=0.03, marked=0.05))


def leave_one_out(folder):
    plan = synthetic.make_plan(
        3, blocks=8, design="leave_one_out", paths=("physical",), name="golden"
    )
    put(folder, plan, synthetic.make_trials(plan, marked=0.02, failures=0.02))


def screen(folder):
    factors = ["tx", "sg", "tso", "gso", "gro", "rx"]
    plan = own(design="screen", factors=factors, blocks=6, confirm=0)
    put(folder, plan, synthetic.make_trials(plan, synthetic.Truth({"tso": 1.3, "gro": 1.2})))


def profiles(folder):
    """Profiles that the campaign names, and the published study that it repeats."""
    plan = own(
        design="profiles",
        factors=["tso", "gso"],
        profiles={"base": {"tso": "off"}, "some": {"tso": "on"}, "more": {"gso": "on"}},
        control="base",
        workloads=["tcp_stream", "udp_stream"],
        study="hardware_offloads",
    )
    put(folder, plan, synthetic.make_trials(plan, synthetic.Truth({"tso": 1.2})))


def confirmed(folder):
    """What was chosen is measured once more, in fresh blocks."""
    plan = own(design="one_at_a_time", factors=["tso", "gso", "gro"], confirm=6)
    truth = synthetic.Truth({"tso": 1.25, "gso": 1.02}, noise=0.02)
    planned = list(synthetic.make_trials(plan, truth))
    decided = confirmation_of(plan, nominate(plan, iter(planned)))
    profiles = {**plan["profiles"], **decided["profiles"]}
    visits = [{**visit, "cells": visit["cells"][:1]} for visit in decided["visits"]]
    whole_plan = {**plan, "profiles": profiles, "visits": visits}
    whole_plan["blocks"] = max(decided["blocks"])
    fresh = [
        {**trial, "part": "confirm"} for trial in synthetic.make_trials(whole_plan, truth, seed=77)
    ]
    fresh += [_checked(plan, trial) for trial in fresh]
    put(folder, plan, planned + fresh, confirmation=decided)


def _checked(plan, trial):
    """Return the check of the payload after a trial of a confirmation."""
    result = {**trial["result"], "payload": _payload(wrong=0)}
    again = {"id": trial["id"].replace("c001", "c002"), "cell": 2}
    return {**trial, **again, "workload": plan["verify"], "result": result}


@functools.cache  # a search takes 2 s of CPU time, and several tests ask for its folder
def _searched():
    """Return the plan, the trials and the decisions of a search and its confirmation."""
    plan = searching.make_search(seed=5, factors=["tso", "gso", "gro", "rx"], trials=2)
    machine = searching.Machine(lambda levels: 0.5 * (levels["tso"] == "on"), "plain", 3)
    decided, record = searching.search(plan, machine)
    confirmation = confirmation_of(with_search(plan, decided), decided["nominees"])
    searching.measure(machine, confirmation["visits"], confirmation["profiles"], record)
    return plan, record, {"search": decided, "confirmation": confirmation}


def search(folder):
    plan, record, decisions = _searched()
    put(folder, plan, record, **decisions)


def nothing_known(folder):
    """Nothing differs, and the noise is too large to say so."""
    plan = synthetic.make_plan(2)
    put(folder, plan, synthetic.make_trials(plan, synthetic.Truth({}, noise=0.1), seed=11))


def four_blocks(folder):
    plan = synthetic.make_plan(2, blocks=4)
    put(folder, plan, synthetic.make_trials(plan))


def all_failed(folder):
    plan = synthetic.make_plan(2)
    put(folder, plan, synthetic.make_trials(plan, failures=1.0))


def unfinished(folder):
    plan = synthetic.make_plan(2)
    trials = list(synthetic.make_trials(plan))
    put(folder, plan, trials[: len(trials) // 2])


def harmful(folder):
    plan = own(design="one_at_a_time", factors=["tso", "gro"])
    put(folder, plan, synthetic.make_trials(plan, synthetic.Truth({"tso": 0.8, "gro": 0.7})))


def guests(folder):
    """A pair of hosts and a pair of virtual machines, whose nodes' CPU is known, too."""
    pairs = [{"client": "node1", "server": "node2"}, {"client": "vm1", "server": "vm2"}]
    plan = own(design="one_at_a_time", factors=["tso", "gro"], pairs=pairs)
    trials = []
    for pair, ratio in zip(pairs, (1.0, 1.3)):
        truth = synthetic.Truth({"tso": ratio, "gro": 1.1})
        name = f"{pair['client']}-{pair['server']}"
        for trial in synthetic.make_trials(plan, truth):
            trials.append({**trial, **pair, "pair": name, "cpu": _with_nodes(trial["cpu"])})
    put(folder, plan, trials)


def _with_nodes(cpu):
    return {**cpu, "nodes": {"node1": cpu["ends"]["client"], "node2": cpu["ends"]["server"]}}


def broken(folder):
    """Payload is checked, and TSO changes it on one of two paths."""
    plan = own(
        design="leave_one_out",
        factors=["tx", {"name": "tso", "needs": ["tx"]}, "gro"],
        paths=["physical", "tenant_vxlan"],
        workloads=["payload"],
    )
    trials = []
    for trial in synthetic.make_trials(plan):
        on = plan["profiles"][trial["profile"]]["levels"]["tso"] == "on"
        payload_of = _payload(wrong=3 if on and trial["path"] == "tenant_vxlan" else 0)
        result = {**trial["result"], "payload": payload_of}
        trials.append({**trial, "result": result, "error": payload.trouble(payload_of)})
    put(folder, plan, trials)


def broken_hop(folder):
    """Pods behind flannel.1: tx breaks at the tunnel's device of the client alone."""
    hops = [
        {
            "name": f"tx_at_{side}_{devices}",
            "settings": ["tx"],
            "devices": [devices],
            "sides": sides,
        }
        for side, sides in (("client", "tx"), ("server", "rx"))
        for devices in ("tenant", "tunnel")
    ]
    names = [hop["name"] for hop in hops]
    off = dict.fromkeys(names, "off")
    profiles = {"all_off": off}
    for side in ("client", "server"):
        on = {name: "on" for name in names if f"_{side}_" in name}
        profiles[f"tx_at_{side}"] = {**off, **on}
        profiles.update({f"not_{name}": {**off, **on, name: "off"} for name in on})
    plan = own(
        design="profiles",
        control="all_off",
        control_visits=1,
        factors=[{**hop, "kind": "feature"} for hop in hops],
        profiles=profiles,
        workloads=["payload"],
        confirm=0,
    )
    plan["encapsulations"] = {"physical": "vxlan"}
    trials = []
    for trial in synthetic.make_trials(plan):
        levels = plan["profiles"][trial["profile"]]["levels"]
        payload_of = _payload(wrong=3 if levels["tx_at_client_tunnel"] == "on" else 0)
        result = {**trial["result"], "payload": payload_of}
        error = payload.trouble(payload_of)
        trials.append({**trial, "result": result, "error": error, "streams": [payload_stream()]})
    synthetic.write(str(folder), plan, trials, pods_manifest())


def payload_stream():
    """Return the process of a check of the payload between two pods."""
    argv = engine_named("payload").command("check", "10.244.2.5", "12868", "2", "0", "10.244.1.5")
    times = {"started": 0.0, "finished": 2.0}
    return {"netns": "cni-node1", "argv": argv, "rc": 0, "raw": "", "stderr": "", **times}


def pods_manifest():
    """Return the manifest of two nodes with pods behind flannel.1."""
    states = {
        "tx-checksumming": True,
        "tx-checksum-ip-generic": True,
        "rx-gro": True,
        "tx-udp-segmentation": False,
    }
    features = {name: {"active": on, "fixed": False} for name, on in states.items()}
    features["tx-vlan-offload"] = {"active": False, "fixed": True}
    manifest_of = manifest()
    for name, node in manifest_of["nodes"].items():
        node["before"]["classes"] = {
            "underlay": ["underlay0"],
            "tenant": [f"cni-{name}/eth0"],
            "tunnel": ["flannel.1"],
        }
        node["before"]["devices"]["flannel.1"] = {
            "driver": {"driver": "vxlan", "version": "0.1", "firmware-version": ""},
            "features": features,
        }
    return manifest_of


def _payload(wrong):
    first = {"number": 7, "size": 1449, "offset": 1448} if wrong else None
    counts = {**dict.fromkeys(result.COUNTS, 0), "sent": 9000, "arrived": 9000, "wrong": wrong}
    counters = {"client": {"TcpInCsumErrors": 0}, "server": {"TcpInCsumErrors": 0}}
    checks = {"tcp_forward": {**counts, "first": first}}
    return {"elapsed_s": 2.0, "mss": 1448, "checks": checks, "counters": counters, "error": None}


def imported(folder):
    """Logs of netperf that somebody kept; there is no manifest."""
    logs = [
        {"file": name, "profile": name, "path": "physical", "mtu": 1500} for name in ("off", "on")
    ]
    texts = {
        "off": "".join(RUN.format(1000.0 + number) for number in range(7)),
        "on": "".join(RUN.format(1500.0 + number) for number in range(7)),
    }
    synthetic.write(str(folder), *import_logs({"name": "imported", "logs": logs}, texts))


def _special(name):
    def write(folder):
        put(folder, *report_campaigns.CAMPAIGNS[name]())

    return write


CAMPAIGNS = {
    make.__name__: make
    for make in (
        on_off,
        one_at_a_time,
        leave_one_out,
        screen,
        profiles,
        confirmed,
        search,
        nothing_known,
        four_blocks,
        all_failed,
        unfinished,
        harmful,
        guests,
        broken,
        broken_hop,
        imported,
    )
}
CAMPAIGNS.update({name: _special(name) for name in report_campaigns.CAMPAIGNS})


def texts_of(name, folder):
    """Make a campaign and its report in ``folder``; return its texts by the golden files' names."""
    CAMPAIGNS[name](folder)
    make_report(str(folder))
    texts = {text: (folder / text).read_text() for text in TEXTS if (folder / text).exists()}
    page_words = Page((folder / "report.html").read_text()).words
    texts[PAGE] = "\n".join(word.strip() for word in page_words if word.strip()) + "\n"
    return texts


def compared_texts(folder):
    """Make three campaigns of one question in ``folder``; return the texts of their comparison.

    In the second tso helps less than in the first, gro makes no difference that matters, and of gso
    that is not known. The third has too few blocks for a test.
    """
    gains = {"old": 1.3, "new": 1.15, "short": 1.3}
    for seed, (name, gain) in enumerate(gains.items(), 1):
        factors = ["tso", "gso", "gro"]
        blocks = 5 if name == "short" else 8
        plan = own(name=name, design="one_at_a_time", factors=factors, blocks=blocks)
        truth = synthetic.Truth({"tso": gain}, noise=0.018, block_noise=0.02)
        put(folder / name, plan, synthetic.make_trials(plan, truth, seed=seed, cpu=False))
    comparison = compare_folders([str(folder / name) for name in gains], threshold=0.05)
    console_text = "\n".join(console(comparison)) + "\n"
    texts = {**documents(comparison), "console.txt": console_text}
    del texts["comparison.json"]
    return texts


def kernel_manifest(kernel, number):
    """Return the manifest of a campaign under a kernel; since the second, GRO can be set."""
    manifest_of = manifest()
    for node in manifest_of["nodes"].values():
        node["before"]["host"]["kernel"] = kernel
        node["before"]["devices"]["underlay0"]["features"]["rx-gro"]["fixed"] = number < 2
    return manifest_of


def kernels_of(folder):
    """Make a campaign under three kernels in ``folder``, the newest first.

    Under the third one tso helps less, and is no longer recommended; gso makes no difference.
    """
    gains = {"6.12.107": 0.95, "6.1.0-56": 1.3, "6.1.0-9": 1.3}
    for seed, (kernel, gain) in enumerate(gains.items(), 1):
        plan = own(name="kernels", design="one_at_a_time", factors=["tso", "gso"], blocks=12)
        truth = synthetic.Truth({"tso": gain}, noise=0.01, block_noise=0.02)
        trials = synthetic.make_trials(plan, truth, seed=seed, cpu=False)
        synthetic.write(
            str(folder / kernel), plan, trials, kernel_manifest(kernel, len(gains) - seed + 1)
        )
        make_report(str(folder / kernel))


def kernels_texts(folder):
    """Make a campaign under three kernels in ``folder``; return the texts of the report over them."""
    kernels_of(folder)
    texts = kernels_page.documents(kernels.report_of([str(folder)]))
    page_words = Page(texts["kernels.html"]).words
    page = "\n".join(word.strip() for word in page_words if word.strip()) + "\n"
    return {"kernels.md": texts["kernels.md"], PAGE: page}


def main(scratch):
    """Write all golden texts; the campaigns are made in ``scratch``."""
    COMPARED.mkdir(parents=True, exist_ok=True)
    for text, content in compared_texts(pathlib.Path(scratch) / "compared").items():
        (COMPARED / text).write_text(content)
    KERNELS.mkdir(parents=True, exist_ok=True)
    for text, content in kernels_texts(pathlib.Path(scratch) / "kernels").items():
        (KERNELS / text).write_text(content)
    for name in CAMPAIGNS:
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
        for text, content in texts_of(name, pathlib.Path(scratch) / name).items():
            (FOLDER / name / text).write_text(content)


if __name__ == "__main__":
    main(sys.argv[1])
