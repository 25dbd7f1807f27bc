# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that YAML has to repeat, because a role's defaults cannot ask Python: they are those of
Python.
"""

from __future__ import annotations

import yaml

from ansible_collections.offload.lab.plugins.module_utils._base import network
from ansible_collections.offload.lab.tests.support import CHECKOUT

ROLES = CHECKOUT / "roles"
OVERHEAD = f"{{{{ {network.VXLAN_OVERHEAD[6]} if ':' in "
PORTS = {
    "offload_lab_vxlan_port": network.VXLAN_PORT,
    "offload_lab_netperf_port": network.NETSERVER_PORT,
    "offload_lab_probe_port": network.PROBE_PORT,
}


def load(name):
    return yaml.safe_load((ROLES / name).read_text())


def test_the_overhead_of_the_tunnel():
    text = load("common/defaults/main.yml")["offload_lab_encapsulation"]
    assert text.startswith(OVERHEAD) and text.endswith(f" else {network.VXLAN_OVERHEAD[4]} }}}}")


def test_the_ports():
    defaults = [
        yaml.safe_load(path.read_text()) or {} for path in ROLES.glob("*/defaults/main.yml")
    ]
    given = [(name, values[name]) for values in defaults for name in PORTS if name in values]
    assert {name for name, _port in given} == set(PORTS)
    assert [(name, port) for name, port in given if port != PORTS[name]] == []
