# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the distributions of Kubernetes keep crictl and ctr, how to call them, and what they print of
pods and containers. Hosts without crictl, such as MicroK8s, have ctr.

RKE2, k3s and MicroK8s bring their own programs, configuration and socket. A program is run only if it
belongs to root and nobody else may write to it or its folder.

The formats come from ``crictl pods``, ``crictl inspectp`` and ``crictl inspect`` with containerd and
CRI-O (containerd/cri#479, containerd/containerd#7731, cri-o/cri-o#8409).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from .._base.errors import InputError, LabError, ParseError
from .._host import trusted
from .._host.runner import SEARCH_PATH

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
        "See where it runs: kubectl get pods -o wide.",
    )


def process_by_crictl(text: str, what: str) -> int:
    """Return a process of a pod or a container, from the output of ``crictl inspectp`` or ``inspect``."""
    pid = _mapping(_read(text, "crictl inspect").get("info")).get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid < 1:
        raise InputError(
            "has no process", what, "See whether it runs: crictl inspect shows its info.pid."
        )
    return pid


FOLDERS = (
    *SEARCH_PATH.split(os.pathsep),
    "/var/lib/rancher/rke2/bin",
    "/var/lib/rancher/k3s/data/current/bin",
    "/snap/microk8s/current/bin",
)
CONFIGURATIONS = (
    "/etc/crictl.yaml",
    "/var/lib/rancher/rke2/agent/etc/crictl.yaml",
    "/var/lib/rancher/k3s/agent/etc/crictl.yaml",
)
SOCKETS = (
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/k3s/containerd/containerd.sock",
    "/var/snap/microk8s/common/run/containerd.sock",
)
K8S = "k8s.io"  # the namespace of containerd that kubelet uses


class GivenPaths(NamedTuple):
    """The paths that a user gives; the node searches for an empty one."""

    crictl: str = ""
    ctr: str = ""
    socket: str = ""  # of containerd or CRI-O


ANY = GivenPaths()


def crictl(chosen: GivenPaths = ANY) -> list[str] | None:
    """Return the beginning of crictl's command line, None where the host has no crictl."""
    program = _program("crictl", chosen.crictl)
    k3s = None if program else find("k3s")
    if not program and not k3s:
        return None
    argv = [program] if program else [str(k3s), "crictl"]
    configuration = None if chosen.socket else _first(CONFIGURATIONS)
    if configuration:
        return [*argv, "--config", configuration]
    socket = _socket(chosen.socket) or _first(SOCKETS)
    return [*argv, "--runtime-endpoint", f"unix://{socket}"] if socket else argv


def ctr(chosen: GivenPaths = ANY) -> list[str] | None:
    """Return the beginning of ctr's command line, None where the host has no ctr or no socket."""
    program = _program("ctr", chosen.ctr)
    socket = _socket(chosen.socket) or _first(
        tuple(path for path in SOCKETS if "containerd" in path)
    )
    return [program, "--address", socket, "--namespace", K8S] if program and socket else None


def _program(name: str, path: str) -> str | None:
    """Return the program that a user gives, or the one that is found."""
    if not path:
        return find(name)
    if not os.path.isabs(path) or not os.access(path, os.X_OK):
        raise LabError(
            "is no program", f"offload_lab_{name} {path}", "Give the path of the program."
        )
    check_trusted(path)
    return path


def _socket(path: str) -> str | None:
    """Return the socket that a user gives; None where none is given."""
    if not path:
        return None
    if not os.path.isabs(path) or not os.path.exists(path):
        raise LabError(
            "there is no such socket",
            f"offload_lab_cri_socket {path}",
            "Give its path, such as /run/containerd/containerd.sock.",
        )
    return path


def find(name: str) -> str | None:
    """Return the path of a program; raise LabError where one is found that somebody else may change."""
    for folder in FOLDERS:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            check_trusted(path)
            return path
    return None


def check_trusted(path: str) -> None:
    """Raise LabError unless only root can change a program and the folders above it."""
    culprit = trusted.changeable(path)
    if culprit:
        raise LabError(
            f"is not run as root, since not root alone may change {culprit}",
            path,
            f"Make it root's (chown root:root {culprit}; chmod go-w {culprit}), or name the end by pid or netns.",
        )


def _first(paths: tuple[str, ...]) -> str | None:
    return next((path for path in paths if os.path.exists(path)), None)


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
    raise InputError("does not run on this node", what, "See what runs: ctr tasks list.")
