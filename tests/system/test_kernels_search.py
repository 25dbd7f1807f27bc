# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook kernels with a good and a bad kernel, with a stub instead of the playbooks that it runs for each
kernel: which kernels it measures, and the range that it finds.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic
from ansible_collections.offload.lab.tests.machines.guests import INVENTORY
from ansible_collections.offload.lab.tests.report_golden import kernel_manifest, own
from ansible_collections.offload.lab.tests.support import CHECKOUT, run

CAMPAIGN = CHECKOUT / "playbooks/campaigns/kernels.yml"
NAMES = [f"6.1.0-{number}" for number in range(1, 9)]
FIRST_SLOW = "6.1.0-6"
DOES_NOT_BOOT = "6.1.0-4"
# Keeps under which kernel it was called, and leaves what a campaign would.
STUB = """#!/bin/sh
place=$(printf %s "$*" | sed 's/.*"offload_lab_results_dir": "\\([^"]*\\)".*/\\1/')
name=${{place##*/}}
echo "$name" >>"{folder}/called"
[ "$name" != {broken} ] || exit 4
cp -r "{folder}/measured/$name" "$place/kernels"
"""
CHANGELOG = "linux (6.1.{number}) stable; urgency=medium\n\n  * change {number}\n\n -- A <a@b.example>  Mon\n\n"


@pytest.fixture(name="night")
def _night(root_required, tmp_path):
    """A folder with kernels, what a campaign measures under each, and a stub of ansible-playbook."""
    gain = 1.3
    for number, name in enumerate(NAMES, 1):
        gain = 0.95 if name == FIRST_SLOW else gain
        plan = own(name="kernels", design="one_at_a_time", factors=["tso", "gso"], blocks=12)
        truth = synthetic.Truth({"tso": gain}, noise=0.01, block_noise=0.02)
        trials = synthetic.make_trials(plan, truth, seed=number, cpu=False)
        folder = tmp_path / "measured" / name
        synthetic.write(str(folder), plan, trials, kernel_manifest(name, number))
        make_report(str(folder))
        kernel = tmp_path / "kernels" / name
        kernel.mkdir(parents=True)
        for file in ("vmlinuz", "initrd.img"):
            (kernel / file).write_text("")
        entries = [CHANGELOG.format(number=entry) for entry in range(number, 0, -1)]
        (kernel / "changelog").write_text("".join(entries))
    stub = tmp_path / "stub"
    stub.write_text(STUB.format(folder=tmp_path, broken=DOES_NOT_BOOT))
    stub.chmod(0o755)
    return tmp_path


def play(night, rc=0, **more):
    kernels = [str(night / "kernels" / name) for name in NAMES]
    variables = {
        "offload_lab_kernels": kernels,
        "offload_lab_kernel_good": kernels[0],
        "offload_lab_kernel_bad": kernels[-1],
        "offload_lab_kernel_slower_percent": 10,
        "offload_lab_kernels_name": "systest-search",
        "offload_lab_campaign_file": str(CAMPAIGN),
        "offload_lab_kernels_output": str(night / "results"),
        "offload_lab_kernels_program": str(night / "stub"),
        "offload_lab_machine_images": str(night / "images"),
        **more,
    }
    argv = ["ansible-playbook", "-i", INVENTORY, "playbooks/kernels.yml", "-e"]
    output = run([*argv, json.dumps(variables)], rc=rc)
    called = night / "called"
    measured = called.read_text().split() if called.exists() else []
    return " ".join(output.split()), [name.rpartition("-")[2] for name in measured]


@pytest.mark.nightly  # the steps are tested without Ansible; a minute of CPU time
def test_the_range_is_found_around_a_kernel_that_does_not_boot(night):
    output, called = play(night)
    assert called == ["1", "8", "4", "5", "6"]
    report = json.loads((night / "results/bisect.json").read_text())
    assert report["range"] == {
        "good": str(night / "kernels/6.1.0-5"),
        "bad": str(night / "kernels/6.1.0-6"),
        "between": [],
    }
    assert [entry.split()[1] for entry in report["entries"]] == ["(6.1.6)"]
    assert "6.1.0-4 could not be measured" in output and "git bisect run" in output

    # It remembers: nothing is measured again.
    _output, called = play(night)
    assert called[5:] == []


@pytest.mark.nightly  # module kernels_bisect refuses them, without Ansible
def test_ends_that_do_not_differ_are_refused(night):
    kernels = [str(night / "kernels" / name) for name in NAMES]
    output, called = play(night, rc=2, offload_lab_kernel_bad=kernels[2])
    assert "no effect is shown to be worse by 10 % or more" in output
    assert called == ["1", "3"]


def test_kernels_in_the_wrong_order_are_refused(night):
    kernels = [str(night / "kernels" / name) for name in NAMES]
    swapped = {"offload_lab_kernel_good": kernels[-1], "offload_lab_kernel_bad": kernels[0]}
    output, called = play(night, rc=2, **swapped)
    assert "does not come before" in output and called == []
