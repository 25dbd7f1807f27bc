# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The forms of GitHub's page "New issue": docs/docsite/links.yml leads there."""

from __future__ import annotations

import re

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT

FOLDER = CHECKOUT / ".github/ISSUE_TEMPLATE"
FORMS = sorted(path for path in FOLDER.glob("*.yml") if path.name != "config.yml")
OUR_PAGE = re.compile(r"https://github\.com/offload-lab/offload\.lab/blob/main/([\w./-]+)")


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_github_asks_for(form):
    document = yaml.safe_load(form.read_text())
    assert document["name"] and document["description"]
    fields = [field for field in document["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields) > 0
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_the_links_lead_to_pages():
    text = "".join(path.read_text() for path in FOLDER.iterdir())
    pages = OUR_PAGE.findall(text)
    assert len(pages) >= 3
    assert [page for page in pages if not (CHECKOUT / page).is_file()] == []
