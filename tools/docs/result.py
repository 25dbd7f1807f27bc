# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the types of a campaign's result: the JSON Schema of analysis.json.

Run it to write the file again.
"""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.encode import schema_of
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import Analysis

CHECKOUT = Path(__file__).resolve().parents[2]
SCHEMA = CHECKOUT / "plugins/plugin_utils/_campaign/schemas/analysis.json"


def schema() -> str:
    """Return the JSON Schema of analysis.json, a definition a line."""
    whole = schema_of(Analysis, "analysis.json of offload.lab")
    definitions = whole.pop("$defs")
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in definitions.items()]
    head = json.dumps(whole)[:-1]
    return f'{head}, "$defs": {{\n' + ",\n".join(lines) + "\n}}\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema())
