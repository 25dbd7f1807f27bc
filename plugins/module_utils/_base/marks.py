# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The marks by which the lab knows what it has made, and leaves alone what others have."""

from __future__ import annotations

OWNER = "offload-lab"  # the key of external_ids in Open vSwitch
ALIAS = "offload.lab:"  # the beginning of the ifalias of a link
