# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence: warm-up traffic along each path, and meanwhile the packets on the devices of both ends."""
from __future__ import annotations

import time

from ansible_collections.offload.lab.plugins.module_utils import _runner, _sampler
from ansible_collections.offload.lab.plugins.module_utils._errors import InputError

SETTLE = 0.05  # seconds until a stream has left slow start behind, on the machines that were tried
TRIES = 5  # a stream can stand still for longer than one sample where CPUs are taken away
TRAFFIC = 100000  # bytes in a sample that are certainly the stream's, not the probe's own talk
QUIET, DRAIN = 0.02, 0.5  # seconds of a look whether the stream is gone, and of all such looks at most


def check(params):
    """Refuse a length of samples that says nothing or keeps the lab for long."""
    if not 0.05 <= params["seconds"] <= 10:
        raise InputError("not between 0.05 and 10 seconds", "seconds {0}".format(params["seconds"]))


def look(params, probe):
    """Sample every path in every direction; return ``{path: {test: {"client", "server"}}}``.

    ``params`` has ``paths``, ``tests``, ``seconds`` and ``vxlan_port``, see module evidence. A path without traffic has
    ``{"error"}`` instead.
    """
    return dict((path["name"], dict((test, _sample_path(path, test, params, probe)) for test in params["tests"]))
                for path in params["paths"])


def _sample_path(path, test, params, probe):
    """Send one stream along a path and sample both ends at once."""
    argv = ["netperf", "-H", path["address"], "-L", path["local_address"], "-p", str(path["port"]), "-t", test,
            "-l", str(int(params["seconds"] * TRIES) + 5), "-P", "0"]
    stream = _runner.start(argv, path.get("netns"), stdin=_runner.subprocess.DEVNULL,
                           stdout=_runner.subprocess.PIPE, stderr=_runner.subprocess.STDOUT)
    try:
        time.sleep(SETTLE)
        for _try in range(TRIES):
            found = _sample_ends(path, params, probe)
            if stream.poll() is not None:
                return {"error": stream.communicate()[0].strip() or "netperf ended early"}
            if _traffic_everywhere(found):
                break
        return found
    finally:
        stream.kill()
        stream.communicate()
        _wait_for_quiet(path, params)


def _wait_for_quiet(path, params):
    """Wait until what the killed stream left in queues has drained.

    On a path that drops packets under load the next trial's first ones were lost in it, and TCP waits a second then.
    """
    deadline = time.monotonic() + DRAIN
    while time.monotonic() < deadline:
        found = _sampler.sample(path["client_devices"], QUIET, params["vxlan_port"])
        if all(seen["out"]["bytes"] + seen["in"]["bytes"] < TRAFFIC for seen in found.values()):
            break


def _sample_ends(path, params, probe):
    probe.send("sample", devices=path["server_devices"], seconds=params["seconds"], vxlan_port=params["vxlan_port"])
    client = _sampler.sample(path["client_devices"], params["seconds"], params["vxlan_port"])
    return {"client": client, "server": probe.receive()}


def _traffic_everywhere(found):
    """Tell whether the stream passed each device of both ends."""
    return all(seen["out"]["bytes"] + seen["in"]["bytes"] >= TRAFFIC for end in found.values() for seen in end.values())
