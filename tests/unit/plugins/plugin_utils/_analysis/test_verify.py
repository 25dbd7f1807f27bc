# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.verdicts import verify_rows


def feature(active, fixed=False):
    return {"active": active, "fixed": fixed, "requested": None}


DEVICES = {
    "eth0": {
        "features": {
            "tcp-segmentation-offload": feature(True),
            "tx-tcp-segmentation": feature(True),
            "tx-udp_tnl-segmentation": feature(True),
            "generic-receive-offload": feature(False),
            "generic-segmentation-offload": feature(True),
            "highdma": feature(True, fixed=True),
            "large-receive-offload": feature(False, fixed=True),
            "rx-all": feature(False, fixed=True),
        },
        "groups": {"tcp-segmentation-offload": ["tx-tcp-segmentation"]},
    }
}
PACKETS = {
    "physical": {
        "TCP_STREAM": {
            "client": {
                "eth0": {
                    "out": {"super_share": 0.98, "tunnel_super_share": 0.0},
                    "in": {"super_share": 0.9},
                }
            },
            "server": {},
        }
    }
}


def proofs(packets):
    return {
        row["feature"]: row["proof"] for row in verify_rows(DEVICES, packets) if not row["fixed"]
    }


def test_rows_say_what_the_packets_prove():
    assert proofs(PACKETS) == {
        "tx-tcp-segmentation": "proven (98% of bytes)",
        "tx-udp_tnl-segmentation": "not seen (0% of bytes)",
        "generic-receive-offload": "seen although off (90% of bytes)",
        "generic-segmentation-offload": "read back only",
    }


def test_what_is_fixed_off_shares_the_last_row():
    last = verify_rows(DEVICES, PACKETS)[-1]
    assert last["fixed"] and last["feature"] == "large-receive-offload, rx-all"
    assert last["line"].split(None, 1) == ["eth0", "fixed off: large-receive-offload, rx-all"]


@pytest.mark.parametrize("packets", [{}, {"physical": {"TCP_STREAM": {"error": "no route"}}}])
def test_without_packets_nothing_is_proven(packets):
    assert proofs(packets)["tx-tcp-segmentation"] == "no packets seen"
