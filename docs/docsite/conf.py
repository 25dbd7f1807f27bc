# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx: the site of "make docs", whose sources tools/docs/pages.py and antsibull-docs put
together.
"""

import runpy
import tempfile
from pathlib import Path

import yaml

HERE = Path(__file__).parent  # .build/docs/source of the checkout


def example_report() -> None:
    """Write the report of the recorded demo, as a page of its own in the site."""
    pictures = runpy.run_path(str(HERE.parents[2] / "tools/docs/pictures.py"))
    with tempfile.TemporaryDirectory() as folder:
        page = pictures["report"](Path(folder))
    (HERE / "example").mkdir(exist_ok=True)
    (HERE / "example/example-report.html").write_text(page)


example_report()
COLLECTION = yaml.safe_load(Path(__file__).with_name("galaxy.yml").read_text())

project = "offload.lab"
version = release = COLLECTION["version"]
author = "The offload.lab developers"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "furo"
html_extra_path = ["example"]
html_title = f"offload.lab {version}"
html_theme_options = {
    "navigation_with_keys": True,
    "top_of_page_buttons": [],  # the link to the source takes a narrow page's heading half of its width
    # A site has one version, and leads to the newest pages.
    "announcement": f'Version {version}. <a href="{COLLECTION["documentation"]}">The newest pages</a>',
}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["ref.ref"]  # labels of Ansible's own documentation, which is not built here
exclude_patterns = [
    "collections/environment_variables.rst",
    "collections/index.rst",
    "collections/offload/index.rst",
]
highlight_language = "none"
default_role = "any"
nitpicky = False
