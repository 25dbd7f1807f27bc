# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.filter.parse_ethtool_features import FilterModule

parse = FilterModule().filters()["parse_ethtool_features"]


def test_text_of_a_listing():
    assert parse("Features for eth0:\nhighdma: on [fixed]\n") == {
        "eth0": {"highdma": {"active": True, "fixed": True, "requested": None}}
    }


@pytest.mark.parametrize("value", [None, 3, ["Features for eth0:"], {}])
def test_no_text(value):
    with pytest.raises(AnsibleFilterError, match="expected the text of 'ethtool -k'"):
        parse(value)
