# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results folders of one campaign under several kernels: read, and kernels.json, .html and .md made."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from ...module_utils._base.errors import InputError
from .._analysis.encode import read_analysis
from .._analysis.integrity import verdicts
from .._compare.folders import labels_of, read_campaign_folder
from .._history.folders import campaign_folders
from .._trials.payload import checks_of
from .._trials.records import stream_records
from . import page
from .kernels import KernelAnalysis, MeasuredKernel, kernel_of, kernels_report
from .rows import KernelsReport


def _read(folder: str, label: str) -> MeasuredKernel:
    campaign = read_campaign_folder(folder, label)
    analysis = read_analysis(KernelAnalysis, folder)
    if analysis is None:
        raise InputError(
            "there is no analysis.json",
            folder,
            "Make the campaign's report first, with module report.",
        )
    kernel = kernel_of(campaign)
    checks = checks_of(stream_records(os.path.join(folder, "trials.jsonl"), []))
    return MeasuredKernel(
        label,
        campaign._replace(name=kernel),
        analysis,
        verdicts(campaign.plan, checks),
    )


def report_of(paths: Sequence[str]) -> KernelsReport:
    """Return the report over all campaigns in some folders, one for each kernel."""
    folders = campaign_folders(list(paths))
    labels = labels_of(folders)
    return kernels_report([_read(folder, label) for folder, label in zip(folders, labels)])


def documents(report: KernelsReport) -> dict[str, str]:
    """Return ``{file name: text}`` of a report."""
    return {
        "kernels.json": json.dumps(report, indent=1, sort_keys=True, allow_nan=False) + "\n",
        "kernels.html": page.render(report),
        "kernels.md": page.markdown(report),
    }
