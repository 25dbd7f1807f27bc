# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose tools lie in each of their fields, from discover and the manifest to apply --check, on the
newest and on the oldest ansible-core: nothing that they print runs on the controller.

The node is this machine, in a mount namespace in which the lying tools come first.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.tests.older_core.test_units import (  # noqa: F401 # a fixture
    _older_core,
)
from ansible_collections.offload.lab.tests.security import lies
from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT, each_day, run

RECORDED = CHECKOUT / "tests/unit/recorded/demo"
FIELDS = ("driver", "version", "firmware-version", "expansion-rom-version", "bus-info")
TOOLS = (
    "ethtool",
    "netperf",
    "ovs-vsctl",
    "crictl",
    "dmesg",
    "uname",
    "iperf3",
    "docker",
    "podman",
)
INVENTORY = """\
all:
  vars: {ansible_connection: local, ansible_become: false}
  children:
    lab_nodes:
      hosts:
        node1: {offload_lab_underlay_device: lo, offload_lab_underlay_address: 192.0.2.1/24}
        node2: {offload_lab_underlay_device: lo, offload_lab_underlay_address: 192.0.2.2/24}
"""
PLAY = """\
- hosts: node1
  gather_facts: false
  tasks:
    - offload.lab.manifest_info:
        devices: [lo]
        settings_of: [lo]
        results: {results}
        campaign: demo
      register: conditions
    - offload.lab.discover_info:
        ends: []
      register: walked
      ignore_errors: true
    - offload.lab.preflight_info:
        device: lo
      register: preflight
      ignore_errors: true
    - ansible.builtin.set_fact:
        told: "{{{{ [conditions, walked, preflight] }}}}"
    - ansible.builtin.debug:
        msg: "{{{{ told }}}} {{{{ conditions.host.tools }}}}"
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - offload.lab.report:
        results: {results}
      register: report
    - ansible.builtin.debug:
        msg: "{{{{ report }}}} {{{{ report.headline }}}} {{{{ hostvars.node1.told }}}}"
"""


def lying(lie):
    """Return a program that prints a lie in each field, whatever it is asked."""
    driver = "".join(f"{field}: {lie}\n" for field in FIELDS)
    features = f"Features for lo:\nrx-checksumming: on\ntx-checksumming: on\n{lie}: off\n"
    tables = [{"headings": ["ovs_version"], "data": [[lie]]}] + [{"headings": [], "data": []}] * 3
    database = "".join(json.dumps(table) + "\n" for table in tables)  # of ovs-vsctl
    return (
        "#!/bin/sh\n"
        f'case "$1" in\n-i) printf %s {shlex.quote(driver)} ;;\n'
        f"-k) printf %s {shlex.quote(features)} ;;\n"
        f"--timeout=*) printf %s {shlex.quote(database)} ;;\n"
        f"*) printf '%s\\n' {shlex.quote(lie)} ;;\nesac\n"
    )


@pytest.fixture
def node(tmp_path):
    """Give what runs a playbook of the controller on a node whose tools lie."""
    tools = tmp_path / "tools"
    tools.mkdir()
    folder = shutil.copytree(RECORDED, tmp_path / "demo")
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    (tmp_path / "play.yml").write_text(PLAY.format(results=json.dumps(str(folder))))
    canary = Path(lies.CANARY)
    canary.unlink(missing_ok=True)

    def play(program, playbook, *argv, lie):
        for name in TOOLS:
            (tools / name).write_text(lying(lie))
            (tools / name).chmod(0o755)
        inside = f"mount --bind {tools} /usr/local/sbin && exec {program} -i {tmp_path}/hosts.yml {playbook}"
        command = f"{inside} {shlex.join(argv)}"
        return run(["unshare", "--mount", "sh", "-c", command], rc=None, cwd=CHECKOUT)

    yield play, folder
    assert not canary.exists()


def lied(program, node, lie):
    play, folder = node
    output = play(program, folder.parent / "play.yml", lie=lie)
    assert re.search(r"localhost +: ok=.*failed=0", output), output
    assert not Path(lies.CANARY).exists()
    manifest = json.loads((folder / "manifest.json").read_text())
    driver = manifest["nodes"]["node1"]["before"]["devices"]["lo"]["driver"]["driver"]
    assert driver and not lies.TEMPLATE.search(json.dumps(manifest)), driver
    assert lies.wrong_files(folder) == {}
    settings = f"@{folder}/recommended.yml"
    applied = play(program, "playbooks/apply.yml", "--check", "-e", settings, lie=lie)
    assert "node1" in applied and "recommends" in applied, applied
    assert lies.wrong_text(output + applied) == []


LIE = "".join(lies.LIES[name] for name in ("template", "statement", "html", "formula"))


@pytest.mark.usefixtures("root_required")
def test_the_newest_core(node):
    lied(BIN / "ansible-playbook", node, LIE)


@pytest.mark.usefixtures("root_required")
def test_the_oldest_core(node, older_core):
    lied(older_core.parent / "ansible-playbook", node, LIE)


@pytest.mark.nightly
@pytest.mark.usefixtures("root_required")
@pytest.mark.parametrize("name", lies.LIES)
def test_each_lie(node, older_core, name):
    for program in (BIN / "ansible-playbook", older_core.parent / "ansible-playbook"):
        lied(program, node, lies.LIES[name])


def settings_that_lie(folder, lie):
    """Write recommended.yml of a recorded campaign whose manifest was written by somebody else."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, parts in manifest["nodes"].items():
        parts["before"]["links"] = {"lo": {}, f"{lie}{name}": {}}
        parts["before"]["devices"] = {"lo": {"driver": {"driver": lie}}}
        parts["before"]["host"]["kernel"] = lie
    (folder / "manifest.json").write_text(json.dumps(manifest))
    make_report(str(folder))
    text = (folder / "recommended.yml").read_text()
    assert "node1" in text
    return f"@{folder}/recommended.yml"


@pytest.mark.parametrize("name", each_day(("header",), lies.LIES))
@pytest.mark.parametrize("core", ["newest", "oldest"])
def test_apply_of_a_folder_that_lies(tmp_path, name, core, request):
    """Without tools of its own: everything is in the folder."""
    program = BIN / "ansible-playbook"
    if core == "oldest":
        program = request.getfixturevalue("older_core").parent / "ansible-playbook"
    folder = shutil.copytree(RECORDED, tmp_path / "demo")
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    Path(lies.CANARY).unlink(missing_ok=True)
    settings = settings_that_lie(folder, lies.LIES[name])
    argv = [program, "-i", tmp_path / "hosts.yml", "playbooks/apply.yml", "--check", "-e", settings]
    output = run([str(word) for word in argv], rc=None, cwd=CHECKOUT)
    assert "Campaign demo recommends nothing" in output, output
    assert not Path(lies.CANARY).exists()
