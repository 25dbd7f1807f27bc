# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of every module: its options go in, and one result or one clear message comes out."""

from __future__ import annotations

from typing import Any, Callable, Dict, Sequence

from ansible.module_utils.basic import AnsibleModule

from .._base.errors import LabError
from .._base.steps import Step, shown

ArgumentSpec = Dict[str, Any]  # of AnsibleModule
Options = Dict[str, Any]  # a module's options, after its argument spec has checked them
Returned = Dict[str, Any]  # what a module returns: its documentation has the keys


def message_of(error: Exception) -> str:
    """Return what a user reads of an error: what is wrong, where, and what to do."""
    if isinstance(error, OSError):
        to_do = "Run it as root (become: true)." if isinstance(error, PermissionError) else None
        return str(LabError(error.strerror or str(error), error.filename, to_do))
    return str(error)


def result_of(
    name: str, before: object, after: object, steps: Sequence[Step], **more: Any
) -> Returned:
    """Return the result of a module that runs ``steps``: what there is now, as ``name``, and the
    difference to what there was.
    """
    return {
        "changed": bool(steps),
        name: after,
        "commands": shown(steps),
        "diff": {"before": {name: before}, "after": {name: after}},
        **more,
    }


def run_module(
    spec: ArgumentSpec, body: Callable[[AnsibleModule], Returned], **options: Any
) -> None:
    """Make the module with the argument ``spec``, run its ``body`` and exit with the result that it
    returns.

    An error that a user can act on, or that the system answers, becomes the module's message and
    never a traceback. ``options`` go to AnsibleModule. Every module of the collection has check
    mode.
    """
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True, **options)
    try:
        result = body(module)
    except (LabError, OSError) as error:
        module.fail_json(msg=message_of(error))
    module.exit_json(**result)
