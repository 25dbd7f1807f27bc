# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The choices of the option ``engine``, which the engines themselves give."""

from __future__ import annotations

from ..module_utils._engines.engines import BY_NAME, STREAMING

CHOICES = """
options:
  engine:
    type: str
    choices: [{}]
"""


class ModuleDocFragment:
    """All engines; ``.STREAMING`` those that make a stream of TCP."""

    DOCUMENTATION = CHOICES.format(", ".join(BY_NAME))
    STREAMING = CHOICES.format(", ".join(STREAMING))
