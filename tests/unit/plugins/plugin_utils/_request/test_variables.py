# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, types and ranges of variables, against the argument specs of the roles; nothing in the
tree is unknown.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._request.variables import (
    Problem,
    known_variables,
    merged,
    unknown_names,
    wrong_values,
)
from ansible_collections.offload.lab.tests.support import CHECKOUT

KNOWN = known_variables(str(CHECKOUT / "roles"))
PLACES = (
    "playbooks",
    "roles",
    "inventories",
    "molecule",
    "awx",
    "README.md",
    "docs",
    "tools",
    "plugins/inventory",
)


def test_every_variable_of_playbooks_roles_and_docs_is_known():
    """A variable that is new goes into the argument specs of its role, or of role common for a
    playbook's.
    """
    names_used = subprocess.run(
        [
            "git",
            "-C",
            str(CHECKOUT),
            "grep",
            "-hoE",
            r"\boffload_lab_[a-z0-9_]*[a-z0-9]\b",
            "--",
            *PLACES,
        ],
        text=True,
        capture_output=True,
        check=False,
    ).stdout
    names = set(re.findall(r"^offload_lab_\w+", names_used, re.MULTILINE)) - set(KNOWN)
    assert sorted(names) == []


def problems(*names):
    return [problem.what for problem in unknown_names("node1", names, KNOWN)]


def test_what_a_workflow_of_awx_passes_on_is_no_misspelt_name():
    assert problems("survey_blocks", "offload_lab_survey_blocks") == []
    assert problems("offload_lab_report_url", "offload_lab_awx_ssh_key") == []


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("tenant_cuont", "tenant_count"),
        ("perist", "persist"),
        ("compare_treshold_percent", "compare_threshold_percent"),
        ("awx_sheduel", "awx_schedule"),
        ("survey_block", "survey_blocks"),
        ("report_foldr", "report_folder"),
    ],
)
def test_a_misspelt_name(name, nearest):
    assert problems(f"offload_lab_{name}", "offload_lab_vni", "other") == [
        f"there is no variable offload_lab_{name}. Did you mean offload_lab_{nearest}?"
    ]


def test_a_name_that_resembles_none():
    assert problems("offload_lab_colour") == ["there is no variable offload_lab_colour. Remove it."]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"offload_lab_vni": "ten"}, "offload_lab_vni: 'ten' cannot be used. It is of type int."),
        ({"offload_lab_vni": 1 << 24}, "offload_lab_vni is 16777216. Use 0 to 16777215."),
        (
            {"offload_lab_datapath": "dpdk"},
            "offload_lab_datapath: 'dpdk' cannot be used. Use auto or system or netdev.",
        ),
        (
            {"offload_lab_more_ports": [{"device": "eth1"}]},
            "offload_lab_more_ports: .* each with device and address.",
        ),
        (
            {"offload_lab_tenant_network": "192.168.10.1/24"},
            "offload_lab_tenant_network: .*has host bits set.*Write it as",
        ),
        (
            {"offload_lab_underlay_address": "198.18.0.1/24"},
            "offload_lab_underlay_address: .*without prefix length",
        ),
        (
            {"offload_lab_netperf_port": 12866, "offload_lab_probe_port": "12866"},
            "are both 12866. Give each",
        ),
    ],
)
def test_wrong_values(values, message):
    [problem] = wrong_values("node1", values, KNOWN)
    assert re.search(message, problem.what), problem.what


def test_values_of_a_survey_and_empty_ones():
    assert (
        list(
            wrong_values(
                "node1",
                {
                    "offload_lab_vni": "20",
                    "offload_lab_host_network": "",
                    "offload_lab_install_packages": "yes",
                    "offload_lab_campaign": {},
                },
                KNOWN,
            )
        )
        == []
    )


def test_one_sentence_for_all_its_places():
    assert merged([Problem("a", "x."), Problem("b", "y."), Problem("b", "x.")]) == [
        Problem("a, b", "x."),
        Problem("b", "y."),
    ]
    many = [Problem(f"node{number}", "x.") for number in range(1, 6)]
    assert merged(many) == [Problem("node1, node2, node3 and 2 more", "x.")]
