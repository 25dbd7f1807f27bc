# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError

from ..module_utils._ethtool.features import Features, parse_features


def parse_ethtool_features(text: object) -> dict[str, Features]:
    """Return the features of each device in a text of ``ethtool -k``."""
    if not isinstance(text, str):
        raise AnsibleFilterError(
            "offload.lab.parse_ethtool_features: expected the text of 'ethtool -k', got "
            f"{type(text).__name__}."
        )
    return parse_features(text)


class FilterModule:
    """The filter offload.lab.parse_ethtool_features."""

    def filters(self) -> dict[str, Callable[[object], dict[str, Features]]]:
        return {"parse_ethtool_features": parse_ethtool_features}
