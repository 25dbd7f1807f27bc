# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sources of the documentation site: the pages of the checkout, with the reference pages made
from the code.

pages.py FOLDER makes them there. A link to a page stays one, a link to another file of the checkout
leads to the repository, and a link to nothing is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

sys.path[:0] = [
    str(Path(__file__).resolve().parents[2] / ".build/live"),
    str(Path(__file__).parent),
]
import reference  # noqa: E402

CHECKOUT = reference.CHECKOUT
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
PICTURES = (".svg", ".png")  # of docs/figures, which the site has next to the pages
NOT_PAGES = ("tests/", "molecule/", "docs/docsite/", ".")


def tracked() -> list[str]:
    """Return the files of the checkout, those that are not committed yet too."""
    command = ["git", "-C", str(CHECKOUT), "ls-files", "--cached", "--others", "--exclude-standard"]
    return sorted(set(subprocess.check_output(command, text=True).splitlines()))


def page_names() -> list[str]:
    """Return the Markdown pages of the site."""
    return [name for name in tracked() if name.endswith(".md") and not name.startswith(NOT_PAGES)]


def broken(page: str, text: str) -> list[str]:
    """Return the links of a page that lead to nothing in the checkout."""
    return [
        target
        for _start, target, _end in LINK.findall(text)
        if "://" not in target and not (CHECKOUT / page).parent.joinpath(target).exists()
    ]


def _for_the_site(page: str, text: str, repository: str, pages: set[str]) -> str:
    def link(match: re.Match[str]) -> str:
        start, target, end = match.groups()
        path = (CHECKOUT / page).parent.joinpath(target).resolve()
        name = str(path.relative_to(CHECKOUT)) if "://" not in target else ""
        if not name or name in pages or target.endswith(PICTURES):
            return match.group(0)
        if f"{name}/README.md" in pages:
            return f"{start}{target.rstrip('/')}/README.md{end}"
        return f"{start}{repository}/{'tree' if path.is_dir() else 'blob'}/main/{name}{end}"

    return LINK.sub(link, text)


def make(folder: Path) -> None:
    """Write the sources into a fresh folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(
        mode=0o755, parents=True
    )  # antsibull-docs requires a folder that nobody else can write
    folder.chmod(0o755)
    repository = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text())["repository"]
    pages = set(page_names())
    for page in sorted(pages):
        text = (CHECKOUT / page).read_text()
        if broken(page, text):
            sys.exit(f"{page}: these links lead to nothing: {', '.join(broken(page, text))}")
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_for_the_site(page, text, repository, pages))
    shutil.copytree(CHECKOUT / "docs/figures", folder / "docs/figures")
    for path in (*(CHECKOUT / "docs/docsite").iterdir(), CHECKOUT / "galaxy.yml"):
        shutil.copy(path, folder)
    (folder / "reference").mkdir()
    for name, page_of in reference.PAGES.items():
        (folder / "reference" / name).write_text(page_of())


if __name__ == "__main__":
    make(Path(sys.argv[1]))
