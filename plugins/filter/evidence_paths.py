# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.trials.evidence_paths import evidence_paths as paths_of


def evidence_paths(paths, client, server, port=12865):
    """Return what module evidence looks at on each path."""
    try:
        return paths_of(paths, client, server, port)
    except LabError as error:
        raise AnsibleFilterError(f"offload.lab.evidence_paths: {error}")
    except (AttributeError, KeyError, TypeError):
        raise AnsibleFilterError("offload.lab.evidence_paths: expected two mappings with 'endpoints' and 'devices'.")


class FilterModule:
    """The filter offload.lab.evidence_paths."""

    def filters(self):
        return {"evidence_paths": evidence_paths}
