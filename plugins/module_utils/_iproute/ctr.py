# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what containerd's ctr prints, for hosts without crictl such as those of MicroK8s.

``ctr tasks list`` prints a table ``TASK PID STATUS``. The sandbox of a pod has labels of the CRI plug-in.
"""

from __future__ import annotations

from collections.abc import Collection

from .._base.errors import InputError


def filter_of(namespace: str, name: str) -> str:
    """Return the filter of ``ctr containers list`` for the sandbox of a pod."""
    labels = {
        "io.cri-containerd.kind": "sandbox",
        "io.kubernetes.pod.namespace": namespace,
        "io.kubernetes.pod.name": name,
    }
    return ",".join(f'labels."{label}"=="{value}"' for label, value in labels.items())


def process_of(containers: Collection[str], tasks: str, what: str) -> int:
    """Return the process of the first of these containers that runs."""
    for line in tasks.splitlines():
        container, pid, status, *_more = [*line.split(), "", "", ""]
        if container in containers and status == "RUNNING" and pid.isdecimal() and int(pid) > 0:
            return int(pid)
    raise InputError("does not run on this node", what, "ctr tasks list shows what runs.")
