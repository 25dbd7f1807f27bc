# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What unit tests of several rooms build alike."""

from __future__ import annotations


def feature(name, levels=("off", "on"), needs=()):
    """Return a factor of a plan: a feature of the underlay's devices, at both ends."""
    return {
        "name": name,
        "kind": "feature",
        "levels": list(levels),
        "settings": [name],
        "needs": list(needs),
        "sides": ["client", "server"],
        "devices": ["underlay"],
    }
