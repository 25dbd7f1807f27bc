# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations


class ModuleDocFragment:
    """The attributes of the collection's modules: ``offload.lab.attributes`` changes, ``.INFO``
    only reads.

    ``.CONTROLLER`` comes before them where no node is asked, ``.ACTION`` where a part runs on the
    controller.
    """

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Says what would change, and changes nothing.
    support: full
  diff_mode:
    description: Returns what changed, or would change, as a diff.
    support: full
  platform:
    description: The systems that can be managed.
    support: full
    platforms: linux
"""

    INFO = r"""
options: {}
attributes:
  check_mode:
    description: It reads, and changes nothing in any mode.
    support: full
  diff_mode:
    description: Returns what changed, or would change, as a diff.
    support: N/A
    details: Nothing is changed, so there is nothing to show.
  platform:
    description: The systems that can be managed.
    support: full
    platforms: linux
"""

    CONTROLLER = r"""
options: {}
attributes:
  platform:
    platforms: all
  action:
    description: Its action plugin does all of it, on the controller.
    support: full
"""

    ACTION = r"""
options: {}
attributes:
  action:
    description: Has a part of the same name that runs on the controller.
    support: full
"""
