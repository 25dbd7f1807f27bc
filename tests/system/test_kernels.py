# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook kernels, with a stub instead of the playbooks that it runs for each kernel."""

from __future__ import annotations

import json
import shutil

import pytest

from ansible_collections.offload.lab.tests.machines.guests import INVENTORY
from ansible_collections.offload.lab.tests.report_golden import kernels_of
from ansible_collections.offload.lab.tests.support import CHECKOUT, run

CAMPAIGN = CHECKOUT / "playbooks/campaigns/kernels.yml"
TAKEN_DOWN = "machines : End the machines, and remove their disks, keys and network]"
# Keeps under which kernel it was called, and leaves what a campaign would; under one that is
# called broken it fails.
STUB = """#!/bin/sh
case "$*" in *broken*) name=broken;; *6.12.107*) name=6.12.107;; *) name=6.1.0-9;; esac
echo "$name" >>"{folder}/called"
[ "$name" != broken ] || exit 4
mkdir -p "{folder}/results/$name"
cp -r "{folder}/measured/$name" "{folder}/results/$name/kernels"
"""


@pytest.fixture(name="night")
def _night(root_required, tmp_path):
    """A folder with kernels, a stub of ansible-playbook, and what it leaves."""
    kernels_of(tmp_path / "measured")
    for kernel in ("6.1.0-9", "6.12.107", "broken"):
        (tmp_path / "kernels" / kernel).mkdir(parents=True)
        for name in ("vmlinuz", "initrd.img"):
            (tmp_path / "kernels" / kernel / name).write_text("")
    stub = tmp_path / "stub"
    stub.write_text(STUB.format(folder=tmp_path))
    stub.chmod(0o755)
    return tmp_path


def nightly(case):
    return pytest.param(*case, marks=pytest.mark.nightly)


def play(night, kernels, rc=0, **more):
    variables = {
        "offload_lab_kernels": kernels,
        "offload_lab_kernels_name": "systest-kernels",
        "offload_lab_campaign_file": str(CAMPAIGN),
        "offload_lab_kernels_output": str(night / "results"),
        "offload_lab_kernels_program": str(night / "stub"),
        "offload_lab_machine_images": str(night / "images"),
        **more,
    }
    argv = ["ansible-playbook", "-i", INVENTORY, "playbooks/kernels.yml", "-e"]
    output = run([*argv, json.dumps(variables)], rc=rc)
    called = night / "called"
    return " ".join(output.split()), called.read_text().split() if called.exists() else []


def folders(night, *names):
    return [str(night / "kernels" / name) for name in names]


@pytest.mark.nightly  # what is reported, and what is left to measure, is tested without Ansible
def test_one_that_does_not_boot_is_named_and_the_others_are_reported(night):
    shutil.rmtree(night / "measured/6.1.0-56")
    folders_asked = folders(night, "6.1.0-9", "broken", "6.12.107")
    output, called = play(night, folders_asked, rc=2)
    assert called == ["6.1.0-9", "broken", "6.12.107"]
    assert output.count(TAKEN_DOWN) == 3
    assert (
        "broken could not be measured: The command exited with a non-zero return code. See"
        in output
    )
    report = json.loads((night / "results/kernels.json").read_text())
    assert [kernel_row["kernel"] for kernel_row in report["kernels"]] == ["6.1.0-9", "6.12.107"]

    # It goes on where it was: only what is not finished is measured again.
    output, called = play(night, folders_asked, rc=2)
    assert called[3:] == ["broken"] and output.count(TAKEN_DOWN) == 1
    _output, called = play(night, folders(night, "6.1.0-9", "6.12.107"))
    assert called[4:] == []


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([], "Kernels, a campaign file and virtual machines are needed"),
        nightly((["6.1"], "must be a package such as linux-image-6.1.0-56-amd64")),
        nightly(
            (["/nowhere/6.1"], "/nowhere/6.1/vmlinuz and /nowhere/6.1/initrd.img are not there")
        ),
    ],
)
def test_what_is_not_to_be_had_is_said_before_anything_is_changed(night, kernels, message):
    output, called = play(night, kernels, rc=2)
    assert message in output
    assert not called and not (night / "results").exists()


@pytest.mark.nightly
def test_a_campaign_that_compares_nothing_is_refused_before_anything_is_changed(night):
    short = night / "short.yml"
    short.write_text(CAMPAIGN.read_text().replace("blocks: 24", "blocks: 3"))
    kernels = folders(night, "6.1.0-9", "6.12.107")
    output, called = play(night, kernels, rc=2, offload_lab_campaign_file=str(short))
    assert "with 3 blocks no difference between kernels can be tested" in output
    assert not called and not (night / "results").exists()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            "E: Unable to locate package linux-image-6.1.0-1-amd64",
            "has no linux-image-6.1.0-1-amd64",
        ),
        nightly(("E: no network", "could not be asked for kernels")),
    ],
)
def test_a_package_that_debian_does_not_have_is_named(night, monkeypatch, answer, message):
    program = night / "bin/mmdebstrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\nexit 25\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    output, called = play(night, ["linux-image-6.1.0-1-amd64"], rc=2)
    assert message in output and not called


def test_the_cache_is_emptied_of_images_alone(night):
    for cached in ("images/bookworm-6.1-abc", "images"):
        (night / cached).mkdir(parents=True, exist_ok=True)
    (night / "images/bookworm-6.1-abc/root.ext4").write_text("")
    (night / "images/mine").write_text("")
    variables = json.dumps({"offload_lab_machine_images": str(night / "images")})
    for _time in range(2):
        output = run(["ansible-playbook", "playbooks/machines_cache_absent.yml", "-e", variables])
        assert "Images and kernels take" in output
        assert [path.name for path in (night / "images").iterdir()] == ["mine"]
