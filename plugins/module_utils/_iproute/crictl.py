# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what crictl prints of the pods of a Kubernetes node, and of a container, as JSON.

The formats come from ``crictl pods``, ``crictl inspectp`` and ``crictl inspect`` with containerd and
CRI-O (containerd/cri#479, containerd/containerd#7731, cri-o/cri-o#8409).
"""

from __future__ import annotations

import json
import re
from typing import Any

from .._base.errors import InputError, ParseError

POD = re.compile(r"([a-z0-9][a-z0-9-]{0,62})/([a-z0-9][a-z0-9.-]{0,252})\Z", re.ASCII)
READY = "SANDBOX_READY"


def pod_name(text: str) -> tuple[str, str]:
    """Return the namespace and the name of a pod that is given as ``NAMESPACE/NAME``."""
    match = POD.match(text)
    if not match:
        raise InputError("not a pod", repr(text), "Give NAMESPACE/NAME, such as default/web-0.")
    return match[1], match[2]


def _read(text: str, what: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"not JSON ({error})", 1, f"Run {what} by hand to see why.")
    if not isinstance(document, dict):
        raise ParseError("not a mapping", 1, f"Run {what} by hand to see why.")
    return document


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def sandbox_of(text: str, namespace: str, name: str) -> str:
    """Return the id of the pod's sandbox, from the output of ``crictl pods --output json``.

    Raises InputError where the pod does not run on this node.
    """
    rows = _read(text, "crictl pods --output json").get("items")
    for row in rows if isinstance(rows, list) else []:
        named = _mapping(_mapping(row).get("metadata"))
        sandbox = _mapping(row).get("id")
        is_it = (named.get("namespace"), named.get("name")) == (namespace, name)
        if is_it and row.get("state") == READY and isinstance(sandbox, str):
            return sandbox
    raise InputError(
        "does not run on this node",
        f"pod {namespace}/{name}",
        "kubectl get pods -o wide shows on which node it runs.",
    )


def process_of(text: str, what: str) -> int:
    """Return a process of a pod or a container, from the output of ``crictl inspectp`` or ``inspect``."""
    pid = _mapping(_read(text, "crictl inspect").get("info")).get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid < 1:
        raise InputError(
            "has no process", what, "Is it running? crictl inspect shows its info.pid."
        )
    return pid
