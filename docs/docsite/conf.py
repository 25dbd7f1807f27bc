# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx: the site of "make docs", whose sources tools/docs/pages.py and antsibull-docs put
together.
"""

from pathlib import Path

import yaml

COLLECTION = yaml.safe_load(Path(__file__).with_name("galaxy.yml").read_text())

project = "offload.lab"
version = release = COLLECTION["version"]
author = "The offload.lab developers"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "furo"
html_title = f"offload.lab {version}"
html_theme_options = {
    "navigation_with_keys": True,
    # A site is that of one version, and each leads to the newest pages.
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
