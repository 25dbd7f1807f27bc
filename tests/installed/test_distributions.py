# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hosts of each distribution that an image can be made of: preflight, lab, a campaign, and all
is gone again.

Debian 12 is in test_two_hosts.py. The table of docs/two-hosts.md says when each was run. On one of
them netperf is built from the source of the distribution's package.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ansible_collections.offload.lab.tests.installed.two_hosts import NODES
from ansible_collections.offload.lab.tests.system.lab import changed

pytestmark = pytest.mark.nightly  # installs packages on two hosts, and measures
CAMPAIGN = """\
name: my_campaign
design: on_off
blocks: 1
paths: [physical, tenant_vxlan]
factors: [tso]
workloads: [tcp_stream, udp_rr]
duration: 1
"""
UBUNTUS_KEY = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
UBUNTU = pytest.mark.skipif(
    not UBUNTUS_KEY.exists(), reason=f"there is no {UBUNTUS_KEY}: install ubuntu-keyring"
)


SUITES = ["trixie", pytest.param("jammy", marks=UBUNTU), pytest.param("noble", marks=UBUNTU)]


# Each test has hosts of its own: what one installs, the other must not find.
@pytest.mark.parametrize("hosts", SUITES, indirect=True, scope="function")
def test_distribution(hosts, play, collections, tmp_path):
    whole_way(hosts, play, collections, tmp_path)
    assert hosts.inside("node1", "find", "/usr/local/bin", "-type", "f") == ""


@pytest.mark.parametrize("hosts", ["trixie"], indirect=True, scope="function")
def test_netperf_is_built_from_its_source(hosts, play, collections, tmp_path):
    archive = hosts.source_of("netperf", tmp_path)
    checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
    source = {"offload_lab_netperf_source": str(archive)}
    source["offload_lab_netperf_source_sha256"] = checksum
    whole_way(hosts, play, collections, tmp_path, "-e", json.dumps(source))
    for node in NODES:
        assert "no packages found" in hosts.inside(node, "dpkg-query", "--show", "netperf", rc=1)
        assert hosts.inside(node, "ls", "/usr/local/bin").split() == ["netperf", "netserver"]
        assert hosts.inside(node, "find", "/tmp", "-name", "offload-lab*") == ""


def whole_way(hosts, play, collections, tmp_path, *source):
    """Run README's commands as a user does."""

    def user(playbook, *arguments):
        status, output = play(
            playbook,
            "-i",
            "my_hosts",
            "--become-password-file",
            "password",
            *arguments,
            timeout=900,
        )
        print(output)
        assert status == 0, output[-4000:]
        return output

    hosts.furnish(tmp_path, collections, CAMPAIGN)
    empty = {node: hosts.left(node) for node in NODES}
    assert "to be installed" in user("preflight")
    user("lab", *source)
    assert set(changed(user("lab", *source)).values()) == {0}
    user("measure", "-e", "offload_lab_campaign_file=my_campaign.yml")
    trials = [
        json.loads(line)
        for line in (tmp_path / "results/my_campaign/trials.jsonl").read_text().splitlines()
    ]
    assert len(trials) == 8 and [trial["error"] for trial in trials if trial["error"]] == []
    user("teardown")
    assert {node: hosts.left(node) for node in NODES} == empty
