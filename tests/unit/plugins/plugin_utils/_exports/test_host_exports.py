# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is recommended, as files of other tools: each against its golden file in tests/unit/recorded/exports."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.filter.host_export import host_export
from ansible_collections.offload.lab.plugins.plugin_utils._exports.host_formats import FORMATS
from ansible_collections.offload.lab.plugins.plugin_utils._exports.host_settings import (
    host_settings,
)

GOLDEN = Path(__file__).parents[3] / "recorded" / "exports"


def row(active, fixed=False):
    return {"active": active, "fixed": fixed, "requested": None}


FEATURES = {
    "rx-checksumming": row(True),
    "tx-checksumming": row(True),
    "tx-checksum-ipv4": row(False, fixed=True),
    "tx-checksum-ip-generic": row(True),
    "tcp-segmentation-offload": row(True),
    "tx-tcp-segmentation": row(True),
    "tx-tcp6-segmentation": row(True),
    "tx-tcp-mangleid-segmentation": row(False),
    "generic-segmentation-offload": row(True),
    "generic-receive-offload": row(True),
    "large-receive-offload": row(False, fixed=True),
    "rx-gro-list": row(False),
    "tx-udp_tnl-segmentation": row(False, fixed=True),
    "tx-udp_tnl-csum-segmentation": row(True),
}
SETTINGS = {
    "underlay": {
        "features": {
            "tx-checksum-ip-generic": True,
            "tso": False,
            "gro": False,
            "rx-gro-list": True,
            "tx-udp_tnl-segmentation": True,
            "tx-udp_tnl-csum-segmentation": False,
        },
        "rings": {"rx": 4096},
        "coalesce": {"rx_usecs": 8, "adaptive-rx": False},
        "channels": {"combined": 4},
        "rx_flow_hash": {"udp4": "sdfn"},
        "pause": {"rx": False},
        "eee": {"eee": False},
        "private_flags": {"rx_cqe_moder": True},
        "big_tcp": {"gso_max_size": 131072},
        "qdisc": {"root": "fq"},
        "threaded": {"napi": True},
        "gro_flush_timeout": {"ns": 20000},
        "rps": {"cpus": "f"},
        "xps": {"cpus": "all"},
        "rfs": {"rx-0": 4096},
        "irq_affinity": {"cpus": "f"},
    },
    "tunnel": {"csum": True},
    "tenant": {"features": {"gro": True}},
    "host": {"features": {"gro": True}},
}
CLASSES = {
    "underlay": [{"name": "eth1"}, {"name": "eth2"}],
    "tenant": [{"name": "tenant1-veth0", "netns": "tenant1"}],
    "tunnel": [{"name": "vxlan0"}],
    "host": [],
}
FOUND = {"eth1": {"features": FEATURES}}


@pytest.fixture
def settings():
    return host_settings("site", "node1", SETTINGS, CLASSES, FOUND)


@pytest.mark.parametrize("tool", FORMATS)
def test_a_file_is_as_its_golden_one(tool, settings):
    file, write = FORMATS[tool]
    assert write(settings).text == (GOLDEN / file).read_text()


@pytest.mark.parametrize("tool", FORMATS)
def test_nothing_is_dropped_in_silence(tool, settings):
    text, dropped = FORMATS[tool][1](settings)
    body = "".join(line for line in text.splitlines(True) if not line.startswith("#"))
    (device,) = settings.devices
    for group, values in device.others.items():
        for name in values:
            is_named = any(line.startswith(f"eth1: {group} {name} ") for line in dropped)
            written = name in body or name.replace("-", "_") in body or f"/{group}" in body
            assert is_named or written or group in body, (group, name)
    for line in dropped:
        assert f"#   {line}\n" in text


@pytest.mark.parametrize("line", ["eth2: it is not there now", "class host: this host has no such"])
def test_devices_that_are_not_there_are_named(settings, line):
    assert any(message.startswith(line) for message in settings.missing)


def test_a_group_of_which_a_part_changes_is_not_written_as_a_group():
    part = {"underlay": {"features": {"tx-tcp-segmentation": False}}}
    exported = host_settings("site", "node1", part, {"underlay": [{"name": "eth1"}]}, FOUND)
    text, dropped = FORMATS["tuned"][1](exported)
    assert "features=" not in text
    assert dropped == ["eth1: tx-tcp-segmentation off"]


@pytest.mark.parametrize("tool", ["nmstate", "netplan", "talos", "linux_system_roles"])
def test_files_are_yaml(tool, settings):
    assert list(yaml.safe_load_all(FORMATS[tool][1](settings).text))


def test_the_filter_knows_its_tools():
    host = {"campaign": "site", "host": "node1", "classes": CLASSES, "devices": FOUND}
    with pytest.raises(AnsibleFilterError, match="'puppet' is not a tool.*Use tuned, nmstate"):
        host_export(SETTINGS, "puppet", **host)
    assert host_export(SETTINGS, "talos", **host)["file"] == "talos.yaml"


class Text(str):
    """A text as Ansible has it; YAML does not know its type."""


def test_texts_of_ansible_become_plain_ones():
    host = {"campaign": "site", "host": "node1", "devices": {Text("eth1"): {"features": FEATURES}}}
    classes = {"underlay": [{"name": Text("eth1")}]}
    exported = host_export({"underlay": {"rings": {"rx": 1}}}, "talos", classes=classes, **host)
    assert "name: eth1" in exported["text"]


def test_an_unknown_feature_is_said():
    wrong = {"underlay": {"features": {"tsoo": True}}}
    with pytest.raises(AnsibleFilterError, match="no feature 'tsoo'"):
        host_export(
            wrong,
            "talos",
            campaign="site",
            host="node1",
            classes={"underlay": [{"name": "eth1"}]},
            devices=FOUND,
        )


@pytest.mark.parametrize("tool", FORMATS)
@pytest.mark.parametrize("odd", ["eth1\n[main]", "{{ x }}", "eth1,eth2", "eth 1", "-eth1"])
def test_a_device_whose_name_means_something_in_a_file_is_left_out(tool, odd):
    classes = {"underlay": [{"name": odd}, {"name": "eth2"}]}
    settings_of = {name: {"features": FEATURES} for name in (odd, "eth2")}
    settings = {"underlay": {"features": {"gro": False}}}
    export = FORMATS[tool][1](host_settings("site\n- x", "node1\n", settings, classes, settings_of))
    assert len(export.missing) == 1 and "cannot be written into a file" in export.missing[0]
    assert "{{" not in export.text and "eth2" in export.text
    assert all(odd not in line for line in export.text.splitlines() if not line.startswith("#"))
    assert "\n- x" not in export.text


@pytest.mark.parametrize("tool", FORMATS)
def test_a_setting_that_means_something_in_a_file_leaves_its_device_out(tool):
    features = {**FEATURES, "rx-a\n[main]\nb": row(True)}
    export = FORMATS[tool][1](
        host_settings(
            "site",
            "node1",
            {"underlay": {"features": {"gro": False}}},
            CLASSES,
            {"eth1": {"features": features}},
        )
    )
    assert (
        any("cannot be written" in line for line in export.missing)
        and "[main]\nb" not in export.text
    )
