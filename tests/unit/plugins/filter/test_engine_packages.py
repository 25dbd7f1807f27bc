# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages of engines, which role common asks for."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.filter.engine_packages import engine_packages
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import FAMILIES


@pytest.mark.parametrize(
    ("names", "debian", "suse"),
    [
        (
            ["netperf"],
            {"netperf": "netperf", "netserver": "netperf"},
            {"netperf": "", "netserver": ""},
        ),
        (["iperf3", "payload"], {"iperf3": "iperf3"}, {"iperf3": "iperf"}),
        (["sockets"], {}, {}),
        (
            ["auto"],
            {"netperf": "netperf", "netserver": "netperf", "iperf3": "iperf3"},
            {"netperf": "", "netserver": "", "iperf3": "iperf"},
        ),
    ],
)
def test_the_packages_of_engines(names, debian, suse):
    packages = engine_packages(names)
    assert tuple(packages) == FAMILIES
    assert (packages["debian"], packages["suse"]) == (debian, suse)


def test_an_engine_that_there_is_not():
    with pytest.raises(AnsibleFilterError, match="engine_packages: .*Use one of netperf"):
        engine_packages(["netprf"])
