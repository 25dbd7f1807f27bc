# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change of settings under the dead man's switch: from the sign of life to its end nobody else
changes or restores the node, and a switch that fires meanwhile ends the change.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Mapping

from ansible.module_utils.basic import AnsibleModule

from .._host.module import Returned
from .._host.runner import guarded
from . import node_lease, strikes
from .sign_of_life import renew

OPTIONS: dict[str, Any] = {
    "sign_of_life": {"type": "bool", "default": False},
    "snapshot": {"type": "path"},
    "lease": {"type": "str"},
    "after_strike": {"type": "bool", "default": False},
}


@contextlib.contextmanager
def watched(params: Mapping[str, Any], check_mode: bool) -> Iterator[None]:
    """Hold the lock of the node's settings while they are changed; nothing happens without ``sign_of_life``.

    The switch is asked before the change, before each of its steps and after it. Raises
    :class:`LabError` where it has fired or struck: it restores again what was set meanwhile, since it
    waits for the lock before it ends. With ``after_strike`` an earlier strike is ended first.
    """
    if check_mode or not params["sign_of_life"]:
        yield
        return
    snapshot, lease = params["snapshot"], params.get("lease")

    def check() -> None:
        renew(lease=lease)
        strikes.check()

    with node_lease.settings_held() as lock:
        renew(snapshot, lease)
        if params.get("after_strike"):
            strikes.end(lease)
        check()
        with guarded(check, lock):
            yield
        check()
        if params.get("after_strike"):
            strikes.count_from_now()


def watching(body: Callable[[AnsibleModule], Returned]) -> Callable[[AnsibleModule], Returned]:
    """Return the body of a module that has :data:`OPTIONS`, with all of it under the switch."""

    def watched_body(module: AnsibleModule) -> Returned:
        with watched(module.params, module.check_mode):
            return body(module)

    return watched_body
