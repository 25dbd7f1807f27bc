# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.plugin_utils.campaign import dry_run


def cannot_vary(tried):
    """Return what the devices of a node did not take of the profiles that were tried on them, one line each."""
    try:
        return dry_run.cannot_vary(tried)
    except (AttributeError, KeyError, TypeError):
        raise AnsibleFilterError("offload.lab.cannot_vary: expected the results of a loop of offload.lab.ethtool over "
                                 "the names of profiles (see ansible-doc).")


class FilterModule:
    """The filter offload.lab.cannot_vary."""

    def filters(self):
        return {"cannot_vary": cannot_vary}
