# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/play.sh: what make report and the like print, and where the rest is."""

from __future__ import annotations

import shutil

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

RECORDED = CHECKOUT / "tests/integration/targets/module_report/files/demo"


@pytest.mark.parametrize(
    ("folder", "rc", "message"),
    [("demo", 0, "Report: {}/report.html"), ("missing", 2, "{}: there is no such folder")],
)
def test_a_person_reads_the_result_and_where_the_rest_is(tmp_path, folder, rc, message):
    shutil.copytree(RECORDED, tmp_path / "demo")
    output = run(
        [
            "sh",
            "tools/play.sh",
            tmp_path,
            "playbooks/report.yml",
            "-e",
            f"offload_lab_report_folder={tmp_path / folder}",
        ],
        rc=rc,
    )
    log = tmp_path / "ansible.log"
    assert output.splitlines()[-1] == f"Ansible's full output: {log}"
    assert message.format(tmp_path / folder) in output
    assert "TASK [" not in output and "TASK [" in log.read_text()
