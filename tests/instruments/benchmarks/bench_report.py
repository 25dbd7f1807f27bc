# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of 100,000 synthetic trials of 40 factors: seconds and memory, against only reading
the same records.

The promise: all outputs in at most 30 s and 1 GiB on 2 cores. Run alone: the machine's other work
is in the seconds.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from ansible_collections.offload.lab.tests.instruments.simulation import synthetic

FOUR = ("tcp_stream", "udp_stream", "tcp_maerts", "tcp_rr")
SHAPES = {  # name: (paths, MTUs, workloads, blocks); 42 visits a block
    "16 tables, 149 blocks": (("physical", "tenant_vxlan"), (9000, 1500), FOUR, 149),
    "192 tables, 12 blocks": (
        ("physical", "physical_vxlan", "tenant_vxlan", "tenant_bridge_vxlan"),
        (9000, 1500),
        tuple(f"workload{number}" for number in range(24)),
        12,
    ),
}
READ = "import json, sys; print(sum(bool(json.loads(line)) for line in open(sys.argv[1] + '/trials.jsonl')))"
# Where nothing compiled is kept, each start compiles numpy and scipy again, a second of it.
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
IMPORTS = "import numpy, scipy.special, jinja2"
REPORT = (
    "import sys; from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report; "
    "make_report(sys.argv[1])"
)


def measure(code, folder):
    """Run Python code on a folder in a process of its own; return (seconds, CPU seconds, peak MiB
    so far).
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    argv = [sys.executable, "-c", code, folder]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=COMPILED)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - start, cpu, after.ru_maxrss / 1024


def main():
    """Print a line for each shape."""
    subprocess.run([sys.executable, "-c", IMPORTS], check=True, env=COMPILED)
    for name, (paths, mtus, workloads, blocks) in SHAPES.items():
        with tempfile.TemporaryDirectory(prefix="offload-lab-bench-") as folder:
            plan = synthetic.make_plan(
                40,
                blocks=blocks,
                paths=paths,
                mtus=mtus,
                workloads=workloads,
                design="leave_one_out",
                name="bench",
            )
            synthetic.write(folder, plan, synthetic.make_trials(plan, marked=0.01, failures=0.01))
            trials = sum(len(visit["cells"]) for visit in plan["visits"])
            read, read_cpu, _memory = measure(READ, folder)
            seconds, cpu, memory = measure(REPORT, folder)
            size = os.path.getsize(os.path.join(folder, "report.html")) / 1e6
        print(
            json.dumps(
                {
                    "report": name,
                    "trials": trials,
                    "seconds": round(seconds, 1),
                    "cpu_seconds": round(cpu, 1),
                    "peak_MiB": round(memory),
                    "html_MB": round(size, 1),
                    "ratio_to_reading": round(seconds / read, 1),
                    "cpu_ratio_to_reading": round(cpu / read_cpu, 1),
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
