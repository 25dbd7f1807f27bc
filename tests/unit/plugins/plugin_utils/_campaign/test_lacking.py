# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host of an existing path lacks a device class that the other host has."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.dry_run import warnings_of
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.forwarding import (
    lacking,
    left_out,
)
from ansible_collections.offload.lab.plugins.plugin_utils._paths.lab_paths import with_own

DEVICES = {
    "underlay": [{"name": "eth1"}],
    "tenant": [{"name": "eth0", "netns": "pod"}],
    "tunnel": [{"name": "flannel.1"}],
}
SENTENCE = (
    "not varied at class underlay and tunnel of hx2: tx, tso. Its path has no such device that a "
    "campaign may change"
)


def own(*there):
    """Return a path whose second host has these device classes, and its first host has all."""
    ends = {"hx1": tuple(DEVICES), "hx2": there}
    nodes = {
        host: {
            "end": {"netns": "pod", "address": f"10.244.{number}.5"},
            "devices": {name: DEVICES[name] for name in classes},
        }
        for number, (host, classes) in enumerate(ends.items(), 1)
    }
    return {"pods": {"classes": [*DEVICES], "vni": 1, "port": 8472, "mtu": 1450, "nodes": nodes}}


def campaign(own_paths, **keys):
    request = {"name": "x", "paths": ["pods"], "factors": ["tx", "tso"], **keys}
    return read_campaign(request, paths_known=with_own(own_paths))


@pytest.mark.parametrize(
    ("there", "keys", "expected"),
    [
        (("tenant",), {}, {"hx2": ["underlay", "tunnel"]}),
        (tuple(DEVICES), {}, {}),
        (("tenant",), {"paths": ["pods", "physical"]}, {"hx2": ["tunnel"]}),
        (("tenant",), {"factors": [{"name": "tx", "devices": ["tenant"]}]}, {}),
    ],
)
def test_what_a_host_of_an_existing_path_lacks(there, keys, expected):
    paths = own(*there)
    assert lacking(campaign(paths, **keys), with_own(paths)) == expected


def test_the_paths_of_the_lab_lack_nothing():
    request = {"name": "x", "paths": ["physical", "tenant_vxlan"], "factors": ["tx"]}
    assert lacking(read_campaign(request), with_own({})) == {}


def test_one_sentence_a_host_names_the_factors():
    paths = own("tenant")
    factors = ["tx", "tso", {"name": "gro", "devices": ["tenant"]}]
    made = campaign(paths, factors=factors)
    assert left_out(made, with_own(paths)) == {"hx2": SENTENCE}
    plan = {**make_plan(made, ""), "own_paths": paths}
    assert SENTENCE in list(warnings_of(plan))
