# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Render the changelog of a copy of the sources, as Markdown and as reST, and refuse what is not
rendered.

render_changelog.py ANTSIBULL_CHANGELOG DATE, in the folder of the copy: it is released there.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

NOT_RENDERED = re.compile(r"\b[CIBMOVEP]\([^)]*\)|system-message|Problematic")
REPAIRS = ("bugfixes", "breaking_changes")


def _releases() -> dict[str, Any]:
    """Return the releases of changelogs/changelog.yaml, by version."""
    releases: dict[str, Any] = yaml.safe_load(Path("changelogs/changelog.yaml").read_text())[
        "releases"
    ]
    return releases


def _leave_out_repairs() -> None:
    """Remove repairs from the fragments: before the first release nothing was broken for anybody."""
    for path in sorted(Path("changelogs/fragments").iterdir()):
        sections = yaml.safe_load(path.read_text())
        kept = {name: value for name, value in sections.items() if name not in REPAIRS}
        if not kept:
            path.unlink()
        elif kept != sections:
            path.write_text(yaml.safe_dump(kept))


def _render(program: str, date: str) -> None:
    """Release the version of galaxy.yml, or render it again where it is released."""
    version = yaml.safe_load(Path("galaxy.yml").read_text())["version"]
    releases = _releases()
    if not releases:
        _leave_out_repairs()
    step = ["generate"] if version in releases else ["release", "--date", date]
    # antsibull-changelog asks git which files are there.
    subprocess.run(["git", "init", "--quiet"], check=True)
    subprocess.run([program, *step], check=True)


def _check() -> None:
    """Exit where markup stayed in a changelog, or the reST is not valid."""
    for name in ("CHANGELOG.md", "CHANGELOG.rst"):
        markers = NOT_RENDERED.findall(Path(name).read_text())
        if markers:
            sys.exit(
                f"{name}: not rendered: {', '.join(markers[:5])}. Write reST in changelogs/fragments: ``code``."
            )
    docutils = [sys.executable, "-m", "docutils", "--report=2", "--halt=2"]
    reread = subprocess.run([*docutils, "CHANGELOG.rst", "/dev/null"], check=False)
    if reread.returncode:
        sys.exit("CHANGELOG.rst is not valid reST.")


def main(program: str, date: str) -> None:
    """Release in this folder in both formats, and look for what stayed markup."""
    config = Path("changelogs/config.yaml")
    config.write_text(config.read_text().replace("output_formats:\n", "output_formats:\n  - rst\n"))
    _render(program, date)
    _check()


if __name__ == "__main__":
    main(*sys.argv[1:])
