# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the report of the one results folder below FOLDER to FILE: example_report.py FOLDER FILE."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report


def main(folder: str, file: str) -> None:
    """Make the report from the recorded trials, and copy its page."""
    [plan] = Path(folder).rglob("plan.json")
    make_report(str(plan.parent))
    shutil.copy(plan.parent / "report.html", file)


if __name__ == "__main__":
    main(*sys.argv[1:])
