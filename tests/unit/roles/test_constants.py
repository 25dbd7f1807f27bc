# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that YAML has to repeat, because a role's defaults cannot ask Python: they equal
Python's.
"""

from __future__ import annotations

import jinja2
import pytest
import yaml

from ansible_collections.offload.lab.plugins.module_utils._base import network
from ansible_collections.offload.lab.plugins.plugin_utils._live import refresh
from ansible_collections.offload.lab.tests.support import CHECKOUT

ROLES = CHECKOUT / "roles"
PORTS = {
    "offload_lab_vxlan_port": network.VXLAN_PORT,
    "offload_lab_netperf_port": network.NETSERVER_PORT,
    "offload_lab_probe_port": network.PROBE_PORT,
}


def load(name):
    return yaml.safe_load((ROLES / name).read_text())


@pytest.mark.parametrize("tunnel", network.OVERHEAD)
@pytest.mark.parametrize(("address", "version"), [("198.18.0.1", 4), ("2001:db8::1", 6)])
@pytest.mark.parametrize(("vlan", "tag"), [(0, 0), (100, network.VLAN_TAG)])
def test_the_overhead_of_the_tunnel(tunnel, address, version, vlan, tag):
    text = load("common/defaults/main.yml")["offload_lab_encapsulation"]
    options = {"tunnel_type": tunnel, "underlay_address": address, "tenant_vlan": vlan}
    variables = {f"offload_lab_{name}": value for name, value in options.items()}
    bytes_taken = int(jinja2.Template(text).render(variables))
    assert bytes_taken == network.OVERHEAD[tunnel][version] + tag


def test_the_ports():
    defaults = [
        yaml.safe_load(path.read_text()) or {} for path in ROLES.glob("*/defaults/main.yml")
    ]
    ports = [(name, values[name]) for values in defaults for name in PORTS if name in values]
    assert {name for name, _port in ports} == set(PORTS)
    assert [(name, port) for name, port in ports if port != PORTS[name]] == []


def test_the_cost_of_the_live_report():
    """The module states it; other texts refer to the module."""
    text = (CHECKOUT / "plugins/modules/report.py").read_text()
    [line] = [line for line in text.splitlines() if " % of the time" in line]
    assert f"{refresh.A_VISIT:g} s " in line and f"{refresh.SHARE * 100:g} %" in line
