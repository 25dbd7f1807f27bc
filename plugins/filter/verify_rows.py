# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.plugin_utils.analysis.verify import verify_rows as rows_of


def verify_rows(devices, packets=None):
    """Return one row for each offload of each device, with what its packets prove."""
    if not isinstance(devices, dict) or not isinstance(packets or {}, dict):
        raise AnsibleFilterError("offload.lab.verify_rows: expected the 'devices' of offload.lab.ethtool_info and the "
                                 "'packets' of offload.lab.evidence.")
    return rows_of(devices, packets)


class FilterModule:
    """The filter offload.lab.verify_rows."""

    def filters(self):
        return {"verify_rows": verify_rows}
