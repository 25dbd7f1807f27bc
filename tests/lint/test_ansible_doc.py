# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-doc prints of the collection fits on a terminal of 80 columns.

It folds sentences itself; examples, samples, choices and attributes it prints as they are.
"""

from __future__ import annotations

import re

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

COLUMNS = 80
KINDS = {
    "module": "plugins/modules/*.py",
    "filter": "plugins/filter/*.yml",
    "inventory": "plugins/inventory/*.py",
    "connection": "plugins/connection/*.py",
    "role": "roles/[!d]*/",  # all but "defaults", which has variables alone
}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The header is the path of the file. ansible-doc folds lists of names late, and names cannot be shortened.
NOT_OURS = re.compile(r"> |\[WARNING\]| *(default|choices): \[")


@pytest.mark.parametrize("kind", KINDS)
def test_it_fits_on_a_terminal(kind):
    names = [f"offload.lab.{path.stem}" for path in CHECKOUT.glob(KINDS[kind])]
    printed = COLOUR.sub("", run(["ansible-doc", "-t", kind, *sorted(names)]))
    lines = printed.splitlines()
    assert len([line for line in lines if line.startswith("> ")]) == len(names) > 0
    wide = [line for line in lines if len(line) > COLUMNS and not NOT_OURS.match(line)]
    assert wide == []
