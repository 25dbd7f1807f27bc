# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role report: where it gets results from that are kept on another host."""

from __future__ import annotations

import json

from ansible_collections.offload.lab.tests.support import CHECKOUT, run


def test_the_store_is_asked_over_its_own_connection(tmp_path):
    """The play's connection to localhost is not that to the store: a store that is not there cannot
    be read.
    """
    (tmp_path / "hosts.yml").write_text("all: {hosts: {store: {ansible_host: no-such-node}}}\n")
    variables = {
        "results_host": "store",
        "results_store": str(tmp_path),
        "report_folder": str(tmp_path / "demo"),
    }
    output = run(
        [
            "ansible-playbook",
            "-i",
            str(tmp_path / "hosts.yml"),
            "playbooks/report.yml",
            "-e",
            json.dumps({f"offload_lab_{name}": value for name, value in variables.items()}),
        ],
        rc=None,
        cwd=CHECKOUT,
        ANSIBLE_TRANSPORT="offload.lab.namespace",
    )
    assert "localhost -> store" in output and "no-such-node" in output and "unreachable=1" in output
