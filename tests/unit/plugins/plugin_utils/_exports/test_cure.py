# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""recommended.yml of a check of the payload: the cure, and the campaign that asks for it again."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.recommend import nothing
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.factors import all_on
from ansible_collections.offload.lab.plugins.plugin_utils._exports import recommended
from ansible_collections.offload.lab.plugins.plugin_utils._paths.lab_paths import with_own
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.unit.builders import cure_found

ASKED = {
    "name": "site",
    "design": "leave_one_out",
    "blocks": 8,
    "paths": ["physical"],
    "factors": ["tx", {"name": "tso", "needs": ["tx"]}, "gro"],
    "workloads": ["payload"],
    "duration": 2,
}
ADVICE = nothing("nothing to compare")


def checks(plan, broken, lost_elsewhere=0, counts=None):
    """Return the checks of a campaign whose payload is wrong under these levels.

    ``lost_elsewhere`` counts segments lost on another path, with each profile; ``counts`` says what a check has
    counted that met the fault.
    """
    all_checks = payload.Checks({}, {})
    met = counts or {"wrong": 1}
    for name, profile in plan["profiles"].items():
        wrong = int(all(profile["levels"][key] == level for key, level in broken.items()))
        check = {**dict.fromkeys(result.COUNTS, 0), "sent": 9, "arrived": 9, "first": None}
        checks_found = {
            "elapsed_s": 2.0,
            "mss": 1448,
            "checks": {"tcp_forward": {**check, **(met if wrong else {})}},
            "counters": {"client": {}, "server": {}},
            "error": None,
        }
        for _block in range(plan["blocks"]):
            all_checks.see(("physical", 9000, name), None, checks_found)
            if lost_elsewhere:
                lossy = {"tcp_forward": {**check, "segments_lost": lost_elsewhere}}
                beside_found = {**checks_found, "checks": lossy}
                all_checks.see(("tenant_vxlan", 9000, name), None, beside_found)
    return all_checks


def written(campaign_keys, broken, lost_elsewhere=0):
    plan = make_plan(read_campaign(campaign_keys), "2026-01-05T00:00:00Z")
    all_checks = checks(plan, broken, lost_elsewhere)
    cure = cure_found(plan, all_checks)
    manifest = {"nodes": {"node1": {"before": {"host": {"kernel": "6.1.0"}}}}}
    advice = recommended.recommendation(ADVICE, plan, manifest, cure, 1767600000.0)
    text = recommended.document(advice)
    return yaml.safe_load(text)["offload_lab_recommended"]


@pytest.mark.parametrize(
    ("design", "profile"), [("leave_one_out", "tso=off"), ("integrity", "tx=on,gro=on")]
)
def test_the_cure_is_what_to_apply_and_is_confirmed_in_fresh_blocks(design, profile):
    cure_written = written({**ASKED, "design": design}, {"tso": "on"})
    assert (cure_written["profile"], cure_written["changes"]) == (profile, {"tso": "off"})
    assert cure_written["client"]["underlay"]["features"] == {"tx": True, "tso": False, "gro": True}
    assert cure_written["confirmed"] is False
    assert (cure_written["date"], cure_written["kernels"]) == ("2026-01-05", {"node1": "6.1.0"})

    confirmed = written(cure_written["again"], {"tso": "on"})
    assert confirmed["profile"] == "as_applied" and confirmed["confirmed"] is True
    assert confirmed["client"] == cure_written["client"]
    # After an upgrade nothing is broken any more: nothing is to be switched off.
    assert written(cure_written["again"], {"tso": "never"})["profile"] is None


def test_another_path_does_not_keep_a_cure_from_being_confirmed():
    asked = {**ASKED, "paths": ["physical", "tenant_vxlan"]}
    again = written(asked, {"tso": "on"}, lost_elsewhere=9)["again"]
    confirmed = written(again, {"tso": "on"}, lost_elsewhere=9)
    assert confirmed["profile"] == "as_applied" and confirmed["confirmed"] is True
    assert confirmed["cures"]["clean"] == confirmed["cures"]["trials"] == 4


def test_what_needs_a_setting_goes_with_it():
    cure_written = written(ASKED, {"tx": "on"})
    assert cure_written["client"]["underlay"]["features"] == {
        "tx": False,
        "tso": False,
        "gro": True,
    }


CUT = {"tx": "on", "tso": "on"}


@pytest.mark.parametrize(
    "broken, counts, seconds, likely, bits",
    [
        ({"tx": "on"}, {"wrong": 1}, 2.0, False, True),
        (CUT, {"wrong": 100}, 0.5, True, True),
        ({"tx": "on"}, {"wrong": 1, "late": 1}, 2.0, False, False),
        ({"tx": "on"}, {"wrong": 79}, 1.0, False, False),
        # TSO is off, and TCP is broken: no device cuts it.
        ({"tx": "on"}, {"wrong": 100}, 0.5, False, False),
        ({"tx": "on"}, {"segments_lost": payload.FEWEST_SEGMENTS}, 2.0, False, False),
    ],
)
def test_what_struck_says_how_long_the_next_checks_are_and_which_features_are_asked_for(
    broken, counts, seconds, likely, bits
):
    plan = make_plan(read_campaign({**ASKED, "design": "integrity"}), "2026-01-05T00:00:00Z")
    cure = cure_found(plan, checks(plan, broken, counts=counts))
    advice = recommended.recommendation(ADVICE, plan, None, cure, 1767600000.0)
    assert advice["again"]["duration"] == advice["hop"]["duration"] == seconds
    assert (advice["likely"] is not None) is likely
    assert (advice["bits"] is not None) is bits


def test_a_host_without_a_device_class_gets_no_settings_for_it():
    end = {"netns": "pod", "address": "10.244.1.5"}
    devices = {"underlay": [{"name": "eth1"}], "tenant": [{"name": "eth0", "netns": "pod"}]}
    pods = {
        "classes": list(devices),
        "vni": 1,
        "port": 8472,
        "mtu": 1450,
        "nodes": {
            "hx1": {"end": end, "devices": devices},
            "hx2": {"end": end, "devices": {"tenant": devices["tenant"]}},
        },
    }
    asked = {**ASKED, "paths": ["pods"]}
    plan = make_plan(
        read_campaign(asked, paths_known=with_own({"pods": pods})), "2026-01-05T00:00:00Z"
    )
    plan["own_paths"] = {"pods": pods}
    recommended_settings = recommended.recommendation(ADVICE, plan, None)
    assert recommended_settings["lacking"] == {"hx2": ["underlay"]}
    assert "lacking" not in written(ASKED, {"tso": "on"})


def test_nothing_broken_has_no_cure():
    cure_written = written(ASKED, {"gro": "never"})
    assert cure_written["profile"] is None and "again" not in cure_written


@pytest.mark.parametrize(
    "paths, rate, blocks",
    [(["physical"], 1.0, 3), (["physical", "tenant_vxlan"], 1.0, 4), (["physical"], 0.5, 16)],
)
def test_a_cure_is_confirmed_in_as_many_blocks_as_the_test_needs(paths, rate, blocks):
    """The three profiles are two tests, however many factors there are."""
    names = ["tx", "rx", "tso", "gso", "gro", "sg", "lro", "rxvlan", "txvlan", "ntuple"]
    plan = make_plan(read_campaign({**ASKED, "paths": paths, "factors": names}), "")
    levels = {**all_on(plan["factors"]), "tx": "off"}
    assert recommended.again(plan, levels, rate)["blocks"] == blocks
