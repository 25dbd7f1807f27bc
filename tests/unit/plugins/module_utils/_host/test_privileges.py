# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._host.privileges import (
    missing_capabilities,
    require,
)

NEEDED = ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]


@pytest.mark.parametrize(
    "effective,missing",
    [
        ("000001ffffffffff", []),
        ("0000000000000000", NEEDED),
        ("0000000000001000", ["CAP_SYS_ADMIN"]),
        ("0000000000200000", ["CAP_NET_ADMIN"]),
    ],
)
def test_missing_capabilities(effective, missing):
    assert (
        missing_capabilities(f"Name:\tx\nCapEff:\t{effective}\nCapBnd:\tffff\n", NEEDED) == missing
    )


def test_a_status_without_capabilities_shows_none():
    assert missing_capabilities("", NEEDED) == NEEDED


def test_the_message_says_what_to_do(tmp_path):
    status = tmp_path / "status"
    status.write_text("CapEff:\t0000000000000000\n", encoding="ascii")
    with pytest.raises(
        InputError, match="needs root: CAP_NET_ADMIN is missing. Run it with 'become: true'"
    ):
        require(["CAP_NET_ADMIN"], str(status))
    require([], str(status))
