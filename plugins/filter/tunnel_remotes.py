# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.module_utils._errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils import _lab_plan


def tunnel_remotes(nodes, node, hostvars):
    """Return the underlay addresses of all nodes but one."""
    try:
        return _lab_plan.remotes({name: hostvars[name].get("offload_lab_underlay_address") for name in nodes}, node)
    except LabError as error:
        raise AnsibleFilterError(f"offload.lab.tunnel_remotes: {error}") from error


class FilterModule(object):
    """The filter offload.lab.tunnel_remotes."""

    def filters(self):
        return {"tunnel_remotes": tunnel_remotes}
