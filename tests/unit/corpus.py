# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the recorded outputs of real machines are; they are read in place and never copied into the
project.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def corpus_dir():
    """Return the folder of recorded outputs; where there is none the test is skipped, with the
    reason.
    """
    folder = Path(os.environ.get("OFFLOAD_LAB_CORPUS") or CHECKOUT.parent / "shared" / "corpus")
    if not folder.is_dir():
        pytest.skip(f"no recorded outputs at {folder}: set OFFLOAD_LAB_CORPUS to their folder")
    return folder
