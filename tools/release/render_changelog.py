# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Render the changelog of a copy of the sources, as Markdown and as reST, and refuse what is not
rendered.

render_changelog.py ANTSIBULL_CHANGELOG, in the folder of the copy: it is released there.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

NOT_RENDERED = re.compile(r"\b[CIBMOVEP]\([^)]*\)|system-message|Problematic")
NOT_YET = re.compile(r"^(bugfixes|breaking_changes):", re.MULTILINE)


def main(program: str) -> None:
    """Release in this folder in both formats, and look for what stayed markup."""
    if not Path(
        "changelogs/changelog.yaml"
    ).exists():  # before the first release nothing was broken for anybody
        early = [
            path.name
            for path in Path("changelogs/fragments").iterdir()
            if NOT_YET.search(path.read_text())
        ]
        if early:
            sys.exit(
                f"bugfixes or breaking changes of what was never released: {', '.join(sorted(early))}"
            )
    config = Path("changelogs/config.yaml")
    config.write_text(config.read_text().replace("output_formats:\n", "output_formats:\n  - rst\n"))
    subprocess.run(
        ["git", "init", "--quiet"], check=True
    )  # antsibull-changelog asks git which files are there
    subprocess.run([program, "release", "--date", "2000-01-01"], check=True)
    for name in ("CHANGELOG.md", "CHANGELOG.rst"):
        markers = NOT_RENDERED.findall(Path(name).read_text())
        if markers:
            sys.exit(
                f"{name}: not rendered: {', '.join(markers[:5])}. Write reST in changelogs/fragments: ``code``."
            )
    reread = subprocess.run(
        [sys.executable, "-m", "docutils", "--report=2", "--halt=2", "CHANGELOG.rst", "/dev/null"],
        check=False,
    )
    if reread.returncode:
        sys.exit("CHANGELOG.rst is not valid reST.")


if __name__ == "__main__":
    main(sys.argv[1])
