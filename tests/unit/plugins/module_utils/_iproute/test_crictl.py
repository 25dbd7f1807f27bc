# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._iproute import discover, runtimes

# Facts of containerd/cri#479 and containerd/containerd#7731, shortened.
OLD = {
    "id": "6ecc8a386012a",
    "metadata": {"attempt": 0, "name": "kube-dns-6c857864fb-z88p2", "namespace": "kube-system"},
    "state": "SANDBOX_NOTREADY",
}
PODS = {"items": [OLD, {**OLD, "id": "8f9ec14c8c927", "state": "SANDBOX_READY"}]}
SANDBOX = {"status": {"state": "SANDBOX_READY"}, "info": {"pid": 48095, "processStatus": "running"}}
DNS = "kube-system/kube-dns-6c857864fb-z88p2"


def test_a_pod_is_its_sandbox_that_is_ready():
    name = runtimes.pod_name(DNS)
    assert runtimes.sandbox_of(json.dumps(PODS), *name) == "8f9ec14c8c927"
    for rows in ([], [OLD]):
        with pytest.raises(
            LabError, match="does not run on this node. See where it runs: kubectl get pods"
        ):
            runtimes.sandbox_of(json.dumps({"items": rows}), *name)


def test_a_process_of_it_is_where_its_path_begins(monkeypatch):
    answers = {"pods": PODS, "inspectp": SANDBOX, "inspect": SANDBOX}
    commands_run = []

    def run(argv):
        commands_run.append(argv)
        return CommandResult(argv, 0, json.dumps(answers[argv[1]]), "")

    monkeypatch.setattr(discover, "run", run)
    monkeypatch.setattr(discover.runtimes, "crictl", lambda _chosen: ["crictl"])
    assert discover._process({"pod": DNS}) == 48095
    assert (
        commands_run[0][5] == r"^kube\-dns\-6c857864fb\-z88p2$"
        and commands_run[1][-1] == "8f9ec14c8c927"
    )
    assert discover._process({"container": "containerd:8f9e"}) == 48095
    assert commands_run[2] == ["crictl", "inspect", "--output", "json", "8f9e"]


@pytest.mark.parametrize("pid", [0, None, True, "48095"])
def test_a_pod_that_has_ended_has_no_process(pid):
    with pytest.raises(LabError, match="pod a/b: has no process"):
        runtimes.process_by_crictl(json.dumps({"info": {"pid": pid}}), "pod a/b")


@pytest.mark.parametrize("name", ["web", "a/b/c", "a/-b", "a/$(b)", "A/b", ""])
def test_what_is_no_pod_is_refused(name):
    with pytest.raises(LabError, match="Give NAMESPACE/NAME"):
        runtimes.pod_name(name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.text() | JSON.map(json.dumps) | st.builds(lambda rows: json.dumps({"items": rows}), JSON))
def test_any_output_is_an_answer_or_our_error(text):
    for read in (
        lambda: runtimes.sandbox_of(text, "a", "b"),
        lambda: runtimes.process_by_crictl(text, "a"),
    ):
        with contextlib.suppress(LabError):
            read()
