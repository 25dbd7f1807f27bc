# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine patch of Talos Linux: a document EthernetConfig for each device. Pure."""

from __future__ import annotations

from typing import Any

import yaml

from .host_settings import Export, HostDevice, HostSettings, expressed, head, kernel_name

USE = """\
Apply it with: talosctl patch machineconfig --nodes ADDRESS --patch @FILE
It needs Talos 1.10 or later."""
RINGS = frozenset(
    ["rx", "tx", "rx-mini", "rx-jumbo", "rx-buf-len", "cqe-size", "tx-push", "rx-push"]
    + ["tx-push-buf-len", "tcp-data-split"]
)
CHANNELS = frozenset(["rx", "tx", "other", "combined"])
OPTIONS = {"rings": ("rings", RINGS), "channels": ("channels", CHANNELS)}


def _document(device: HostDevice) -> tuple[dict[str, Any], list[str]]:
    """Return the document of a device, and what it cannot express."""
    document: dict[str, Any] = {
        "apiVersion": "v1alpha1",
        "kind": "EthernetConfig",
        "name": device.name,
    }
    if device.features:
        document["features"] = {kernel_name(row): on for row, on in device.features.items()}
    others, left = expressed(device, OPTIONS)
    return {**document, **others}, left


def talos(settings: HostSettings) -> Export:
    """Return the patch."""
    texts = []
    left = list(settings.left)
    for device in settings.devices:
        document, missing = _document(device)
        left += missing
        if len(document) > 3:  # more than what it is and its name
            texts.append(yaml.safe_dump(document, sort_keys=False))
    return Export(head(settings, "Talos", USE, left) + "---\n" + "---\n".join(texts), left)
