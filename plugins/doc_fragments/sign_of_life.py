# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that change settings while a dead man's switch watches."""

from __future__ import annotations


class ModuleDocFragment:
    """Whether the switch is asked, and the snapshot that it restores from."""

    DOCUMENTATION = r"""
options:
  sign_of_life:
    description:
      - Tell the dead man's switch of the node that the controller lives.
      - When the switch has restored the node, the task fails before anything is changed.
      - When it fires while the task runs, the task fails, and what it has changed is restored again. Only one process
        at a time changes or restores the node.
    type: bool
    default: false
  snapshot:
    description:
      - The snapshot of the node, for O(sign_of_life=true).
      - When it is not there, because the node was rebooted or restored, the task fails before anything is changed -
        nobody would restore the node.
    type: path
  after_strike:
    description:
      - When the switch has restored the node because a path stopped answering (a strike), end the strike first, for
        O(sign_of_life=true). This waits until the path answers again and the switch has read the node back.
      - Without it the task fails after a strike, before anything is changed.
    type: bool
    default: false
  lease:
    description:
      - The campaign that has the node, as M(offload.lab.dead_man_switch) returns it.
      - When another campaign has the node by now, the task fails before anything is changed.
    type: str
"""
