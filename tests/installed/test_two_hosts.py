# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""README's "Use it on two hosts": the installed collection, an empty folder, two hosts that have
sshd and python3.

What each command prints is kept in tests/output/two_hosts; docs/two-hosts.md shows it.
"""

from __future__ import annotations

import shutil

import pytest
import yaml

from ansible_collections.offload.lab.tests.installed.two_hosts import NODES
from ansible_collections.offload.lab.tests.support import CHECKOUT
from ansible_collections.offload.lab.tests.system.lab import changed

pytestmark = pytest.mark.nightly  # installs packages on two hosts, and measures
CAMPAIGN = """\
name: my_campaign
design: on_off
blocks: 8
paths: [tenant_vxlan]
factors: [tx, tso, gso, gro]
workloads: [tcp_stream]
duration: 1
"""
OUTPUT = CHECKOUT / "tests/output/two_hosts"


@pytest.fixture
def user(hosts, play, collections, tmp_path):
    """Return what runs a command of README as the user does, and keeps what it prints."""
    hosts.furnish(tmp_path, collections, CAMPAIGN)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)

    def run(playbook, *arguments):
        status, output = play(
            playbook,
            "-i",
            "my_hosts",
            "--become-password-file",
            "password",
            *arguments,
            timeout=900,
        )
        number = len(list(OUTPUT.iterdir())) + 1
        (OUTPUT / f"{number:02}-{playbook}.txt").write_text(
            f"$ {playbook} {' '.join(arguments)}\n{output}"
        )
        assert status == 0, output[-4000:]
        return output

    return run


def test_from_readme_to_a_setting_that_stays(hosts, user, tmp_path):
    empty = {node: hosts.left(node) for node in NODES}
    campaign = ("-e", "offload_lab_campaign_file=my_campaign.yml")
    apply = ("-e", "@results/my_campaign/recommended.yml", "-e", "offload_lab_persist=auto")

    assert "to be installed" in user("preflight")
    user("lab", "--check", "--diff")
    user("lab")
    assert set(changed(user("lab")).values()) == {0}
    before = {node: hosts.features(node) for node in NODES}
    user("measure", *campaign, "--check")
    user("measure", *campaign)
    assert {node: hosts.features(node) for node in NODES} == before
    user("report", *campaign)
    recommended = yaml.safe_load((tmp_path / "results/my_campaign/recommended.yml").read_text())
    assert recommended["offload_lab_recommended"]["client"]["underlay"]["features"]

    foreseen = user("apply", *apply, "--check", "--diff")
    assert (
        "/etc/network/if-up.d" in foreseen
        and {node: hosts.features(node) for node in NODES} == before
    )
    user("apply", *apply)
    applied = {node: hosts.features(node) for node in NODES}
    assert applied != before
    user("teardown")
    assert {node: hosts.features(node) for node in NODES} == applied

    # The device is new and as its driver makes it, but for what the network's restart sets
    hosts.join()
    assert {node: hosts.features(node) for node in NODES} == applied
    user("revert")
    assert {node: hosts.features(node) for node in NODES} == before
    user("teardown")
    assert {node: hosts.left(node) for node in NODES} == empty
