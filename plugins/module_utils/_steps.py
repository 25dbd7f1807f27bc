# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a step of a plan: ``{"argv": [...], "stdin": text or None}``."""
from __future__ import annotations


def batch(lines, netns=None, program="ip"):
    """Return the step that runs all lines in one process of ip or bridge; no step for no lines."""
    if not lines:
        return []
    where = ["-netns", netns] if netns else []
    return [{"argv": [program] + where + ["-batch", "-"], "stdin": "".join(line + "\n" for line in lines)}]
