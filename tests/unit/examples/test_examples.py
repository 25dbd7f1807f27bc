# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of examples/: they name what there is, and the notebook runs."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from ansible_collections.offload.lab.plugins.plugin_utils._exports.pipeline import FAMILIES
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import OUTPUTS, make_report
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic
from ansible_collections.offload.lab.tests.support import CHECKOUT

EXAMPLES = CHECKOUT / "examples"


def test_the_dashboard_asks_for_what_is_written():
    dashboard = json.loads((EXAMPLES / "grafana/dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [
        variable["query"]
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "query"
    ]
    assert {name for text in expressions for name in re.findall(r"offload_lab_\w+", text)} == set(
        FAMILIES
    )


@pytest.mark.parametrize("name", ["github/nightly.yml", "gitlab/gitlab-ci.yml"])
def test_pipelines_name_playbooks_variables_and_files_that_are_there(name):
    text = (EXAMPLES / name).read_text()
    assert isinstance(yaml.safe_load(text), dict)
    for playbook in re.findall(r"ansible-playbook .*?offload\.lab\.(\w+)", text):
        assert (CHECKOUT / f"playbooks/{playbook}.yml").is_file(), playbook
    known_names = "".join(path.read_text() for path in CHECKOUT.glob("playbooks/*.yml")) + "".join(
        path.read_text() for path in CHECKOUT.glob("roles/*/meta/argument_specs.yml")
    )
    assert [name for name in re.findall(r"offload_lab_\w+", text) if name not in known_names] == []
    assert set(re.findall(r"results/nightly/([\w.]+)", text)) <= set(OUTPUTS)
    # Until the collection is on Galaxy.
    repository = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text())["repository"]
    assert f"{repository}.git" in text and "collection install ./lab" in text
    (lock,) = re.findall(r"pip install --require-hashes -r lab/(\S+)", text)
    assert lock == "requirements/controller.txt" and (CHECKOUT / lock).is_file()


@pytest.mark.nightly
def test_the_notebook_runs(tmp_path, monkeypatch):
    plan = synthetic.make_plan(1, workloads=("tcp_stream",))
    synthetic.write(str(tmp_path), plan, synthetic.make_trials(plan, marked=0.1))
    make_report(str(tmp_path))
    monkeypatch.setenv("RESULTS", str(tmp_path))
    names: dict[str, object] = {}
    for cell in json.loads((EXAMPLES / "notebook/results.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert list(names["effects"]["profile"].unique()) == ["all_on"]
    assert len(names["used"]) < len(names["trials"]) == len(plan["visits"]) * 2
