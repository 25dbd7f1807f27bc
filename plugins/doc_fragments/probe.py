# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option of modules that ask the probe of the other end."""

from __future__ import annotations


class ModuleDocFragment:
    """Where the probe answers."""

    DOCUMENTATION = r"""
options:
  probe:
    description: Where the server's probe answers, see M(offload.lab.probe).
    type: dict
    suboptions:
      address:
        description: Its address.
        type: str
        required: true
      port:
        description: Its TCP port.
        type: int
        default: 12866
      token:
        description: Its token, which M(offload.lab.probe) returns.
        type: str
        required: true
"""
