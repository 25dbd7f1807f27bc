# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the noise of a real campaign for the truth tests: record_noise.py RESULTS_FOLDER "what it
ran on".

Writes tests/instruments/simulation/noise.json. Run it with the collection on PYTHONPATH (make live;
PYTHONPATH=.build/live).
"""

from __future__ import annotations

import json
import os
import sys

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import read_plan
from ansible_collections.offload.lab.plugins.plugin_utils._trials import records
from ansible_collections.offload.lab.tests.instruments.simulation.noise import FILE, extract


def main(folder, source):
    """Read a results folder, write noise.json, and print what it says."""
    trials, problems = records.read(os.path.join(folder, "trials.jsonl"))
    noise = extract(read_plan(os.path.join(folder, "plan.json")), trials, source)
    with open(FILE, "w", encoding="utf-8") as stream:
        json.dump(noise, stream)
        stream.write("\n")
    print("\n".join(problems + [f"{key}: {noise[key]}" for key in noise if key != "residuals"]))


if __name__ == "__main__":
    main(*sys.argv[1:3])
