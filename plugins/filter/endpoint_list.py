# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError


def endpoint_list(endpoints, port=12865):
    """Return every address of a node's ends once, as module netserver takes them."""
    found = {}
    try:
        for path in endpoints.values():
            for end in path.get("all") or [path]:
                found[end.get("netns"), end["address"]] = {
                    "netns": end.get("netns"), "address": end["address"], "port": port}
    except (AttributeError, KeyError, TypeError):
        raise AnsibleFilterError("offload.lab.endpoint_list: expected by path a mapping with 'address' and 'netns', or "
                                 "with 'all', a list of these.")
    return list(found.values())


class FilterModule:
    """The filter offload.lab.endpoint_list."""

    def filters(self):
        return {"endpoint_list": endpoint_list}
