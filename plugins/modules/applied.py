#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was applied to a node stays, with the originals."""

from __future__ import annotations

DOCUMENTATION = r"""
module: applied
short_description: Keep what was applied to a node, with the originals
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Compares the snapshot of M(offload.lab.snapshot) with how the node is set now, writes the originals of what differs
    to O(path), with the values that it has now and the time, and forgets the snapshot. From then on the settings stay.
    Neither campaigns nor teardown undo them.
  - An original that is in O(path) already is never replaced, so that the node goes back to how it was before the first
    time.
  - M(offload.lab.restore) with this O(path) takes everything back.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  path:
    description: The file of the originals, on the node.
    type: path
    default: /var/lib/offload-lab/applied.json
  snapshot:
    description: The snapshot from before the change, on the node. Without one the module does nothing.
    type: path
    default: /var/lib/offload-lab/snapshot.json
  devices:
    description:
      - The devices that may have been changed. An item is a name, or a dictionary with the keys C(name) and C(netns).
      - One that does not exist is left out.
    type: list
    elements: raw
    required: true
seealso:
  - module: offload.lab.applied_info
  - module: offload.lab.snapshot
  - module: offload.lab.restore
notes:
  - Needs root.
"""

EXAMPLES = r"""
- name: Keep what was changed
  offload.lab.applied:
    devices: [eth0]

- name: Take it back
  offload.lab.restore:
    path: /var/lib/offload-lab/applied.json
"""

RETURN = r"""
originals:
  description: By device what it had before, in the form of C(restore) of M(offload.lab.ethtool_info).
  returned: success
  type: list
  elements: dict
  sample: [{name: eth0, features_wanted: {tx-tcp-segmentation: true}}]
"""

import json
import time
from typing import Any, cast

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.module import Returned, run_module
from ..module_utils._kinds.kind import Item
from ..module_utils._restore import applied, identity, settings, snapshot, watched_change

SWITCH_ASKED = {"sign_of_life": True, "snapshot": None, "lease": None}


def kept_after(
    before: snapshot.Snapshot, kept: snapshot.Snapshot | None, devices: list[Item]
) -> snapshot.Snapshot | None:
    """Return what the file is to have: originals, and what was set instead."""
    changed = applied.originals(before, devices)
    if not changed["devices"]:
        return kept
    today = applied_today(kept) if kept else None
    after = applied.merge(today, changed)
    earlier = cast(snapshot.KeptApplied, today or {}).get("applied")
    set_now = applied.settings_now(changed["devices"], devices)
    recorded = applied.record(earlier, set_now, time.time(), snapshot.boot_id())
    return cast(snapshot.Snapshot, {**(after or changed), "applied": recorded})


def applied_today(kept: snapshot.Snapshot) -> snapshot.Snapshot:
    """Return what was applied with the present names and identities of its devices."""
    same_boot = snapshot.same_boot(kept)
    renamed: dict[str, Any] = {
        **kept,
        "devices": identity.resolve(kept["devices"], same_boot).items,
    }
    earlier = cast(snapshot.KeptApplied, kept).get("applied")
    if earlier:
        devices = identity.resolve(earlier["devices"], same_boot).items
        renamed["applied"] = {**earlier, "devices": devices}
    return cast(snapshot.Snapshot, renamed)


def with_gone(
    after: snapshot.Snapshot | None, kept: snapshot.Snapshot | None
) -> snapshot.Snapshot | None:
    """Add the devices that are gone, as they were kept, to what is kept now."""
    if after is None or kept is None or after is kept:
        return after
    same_boot = snapshot.same_boot(kept)
    gone = identity.resolve(kept["devices"], same_boot).gone
    devices = after["devices"] + identity.of_no_boot(gone)
    earlier = cast(snapshot.KeptApplied, kept).get("applied")
    recorded = cast(snapshot.KeptApplied, after)["applied"]
    if earlier:
        gone = identity.resolve(earlier["devices"], same_boot).gone
        recorded = {**recorded, "devices": recorded["devices"] + identity.of_no_boot(gone)}
    return cast(snapshot.Snapshot, {**after, "devices": devices, "applied": recorded})


def converge(module: AnsibleModule) -> Returned:
    """Keep the originals of what differs, forget the snapshot, and return the module's result. A switch
    that has fired has taken back what was applied.
    """
    with watched_change.watched(SWITCH_ASKED, module.check_mode):
        return keep_originals(module)


def keep_originals(module: AnsibleModule) -> Returned:
    """Keep the originals while nobody else restores the node."""
    params = module.params
    devices = settings.read_settings(module.params["devices"], missing="skip")
    before = snapshot.read(params["snapshot"])
    if before:
        before = {**before, "devices": identity.resolve(before["devices"]).items}
    kept = snapshot.read(params["path"])
    after = kept if before is None else with_gone(kept_after(before, kept, devices), kept)
    if not module.check_mode:
        if after is not None and after != kept:
            snapshot.write(params["path"], after)
        if before is not None:
            snapshot.remove(params["snapshot"])
    texts = [
        json.dumps(state, indent=1, sort_keys=True) + "\n" if state else ""
        for state in (kept, after)
    ]
    return {
        "changed": after != kept,
        "originals": after["devices"] if after else [],
        "diff": {"before": texts[0], "after": texts[1]},
    }


def main() -> None:
    run_module(
        {
            "path": {"type": "path", "default": "/var/lib/offload-lab/applied.json"},
            "snapshot": {"type": "path", "default": "/var/lib/offload-lab/snapshot.json"},
            "devices": {"type": "list", "elements": "raw", "required": True},
        },
        converge,
    )


if __name__ == "__main__":
    main()
