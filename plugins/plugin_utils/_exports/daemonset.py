# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""daemonset.yml: a DaemonSet of Kubernetes that keeps the cure of a check of the payload on each node.
Pure.

Devices in pods are left out: their settings end with the pod. So are the node's ends of their veths,
whose names do not come back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import yaml

from ...module_utils._base.quoting import shell_line
from .._store.manifest import Manifest, before_of
from .._untrusted.texts import comment
from .recommended import RecommendedSettings

DAEMONSET = "daemonset.yml"
POD_CLASSES = ("tunnel", "underlay")  # devices that are the same on each node
POD = "offload-cure"
POD_IMAGE = "registry.example.org/ethtool:1"
POD_PAUSE = 5  # s; a CNI may make its device again at any time
# What may become a word of the pod's shell.
DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}\Z", re.ASCII)
FEATURE = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z", re.ASCII)
POD_HEAD = """\
---
# Keeps the cure of campaign {name} on each node, also when the CNI recreates its device.
# Confirmed in fresh trials: {sure}.
# Replace the image by one with a shell and ethtool, then run: kubectl apply -f daemonset.yml
# To undo it: kubectl delete -f daemonset.yml, then switch the features on again on each node.
# vxlan.calico needs none: Felix does it (featureDetectOverride: ChecksumOffloadBroken=true).
"""


def daemonset(
    advice: RecommendedSettings,
    manifest: Manifest | None,
    nodes: Mapping[str, Collection[str]],
) -> str | None:
    """Return the manifest; None if no feature of the nodes' devices is to be off.

    ``advice`` is the content of recommended.yml, ``nodes`` are the nodes of each end.
    """
    if "cures" not in advice or manifest is None:
        return None
    lines: list[str] = []
    for end, names in nodes.items():
        for node in sorted(names):
            settings: Any = advice.get(end)
            lines += _of_node(settings or {}, before_of(manifest, node).get("classes") or {})
    if not lines:
        return None
    sure = "yes" if advice.get("confirmed") else "no"
    head = POD_HEAD.format(name=comment(advice["campaign"]), sure=sure)
    return head + _document(list(dict.fromkeys(lines)))


def _of_node(settings: Mapping[str, Any], classes: Mapping[str, Collection[str]]) -> list[str]:
    """Return the commands for the devices of a node."""
    commands: list[str] = []
    for name in POD_CLASSES:
        features = (settings.get(name) or {}).get("features") or {}
        off = [
            feature for feature, on in features.items() if on is False and FEATURE.match(feature)
        ]
        for device in filter(DEVICE.match, classes.get(name, ())):
            commands += [shell_line(["ethtool", "-K", device, feature, "off"]) for feature in off]
    return commands


def _document(commands: list[str]) -> str:
    """Return the DaemonSet that runs commands again and again."""
    script = "; ".join(
        ["while true; do " + commands[0], *commands[1:], f"sleep {POD_PAUSE}", "done"]
    )
    labels = {"app": POD}
    container = {
        "name": "cure",
        "image": POD_IMAGE,
        "command": ["sh", "-c", script],
        "securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]}},
    }
    spec = {
        "hostNetwork": True,
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }
    document = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": POD, "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": dict(labels)}, "spec": spec},
        },
    }
    return yaml.safe_dump(document, sort_keys=False, width=1000)
