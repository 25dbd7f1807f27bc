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
    FROM_AWX,
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
    found = subprocess.run(
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
    names = set(re.findall(r"^offload_lab_\w+", found, re.MULTILINE)) - set(KNOWN)
    assert sorted(name for name in names if not name.startswith(FROM_AWX)) == []


def test_what_a_workflow_of_awx_passes_on_is_no_misspelt_name():
    passed = (
        "offload_lab_survey_blocks",
        "offload_lab_headline",
        "offload_lab_report_url",
        "offload_lab_standing",
    )
    assert list(unknown_names("node1", dict.fromkeys(passed, "x"), KNOWN)) == []


def test_a_misspelt_name():
    assert list(
        unknown_names(
            "node1", {"offload_lab_tenant_cuont": 1, "offload_lab_vni": 1, "other": 1}, KNOWN
        )
    ) == [
        Problem(
            "node1",
            "there is no variable offload_lab_tenant_cuont. Did you mean offload_lab_tenant_count?",
        )
    ]


@pytest.mark.parametrize(
    ("values", "words"),
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
def test_wrong_values(values, words):
    [problem] = wrong_values("node1", values, KNOWN)
    assert re.search(words, problem.what), problem.what


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
