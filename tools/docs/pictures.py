# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of README.md and docs/first-report.md, from a "make demo" that was recorded whole.

It was run on 2026-11-24, RESULTS=/tmp/pic-run/results, while nothing else ran. The report in
console.txt is what the code of today prints for this campaign. pictures.py [FOLDER] draws
console.svg and, with chromium, two parts of the report that the code of today makes of that
campaign; into docs/figures by default.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from html import escape
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / ".build/live"))

from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report  # noqa: E402

FOLDER = CHECKOUT / "docs/figures"
RECORDED = CHECKOUT / "tests/unit/recorded/whole"
# Lines of console.txt that are shown, the first and the last; between them stands "...".
KEPT = ((1, 9), (23, 25), (45, 47), (53, 54), (86, 87), (91, 93), (112, 114))
# pixels
LETTER = 7.8
LINE = 18
EDGE = 16
STYLE = "text{font:13px monospace;fill:#e6edf3;white-space:pre}.stage{font-weight:bold}.shown{fill:#79c0ff}"
# What is on the picture of a report, and its height in pixels; everything else is hidden.
PARTS = {
    "report.png": ("main > :not(.answer):not(.details)", 766),
    "effects.png": ("header, main > :not(#effects), #effects table", 590),
}
TOP = "#effects h2 { margin: 0; padding: 0; border: 0 }"
WIDTH = 860  # pixels: narrow, so that letters can be read where a page shows the picture smaller


def console_lines() -> list[str]:
    """Return what the picture of the console shows, with the command."""
    printed = (RECORDED / "console.txt").read_text().splitlines()
    lines = ["$ make demo"]
    for first, last in KEPT:
        lines += ["..."] if len(lines) > 1 else []
        lines += printed[first - 1 : last]
    return lines


def console() -> str:
    """Return the console as an SVG file. Each line has its width said, for fonts differ."""
    lines = console_lines()
    width = 2 * EDGE + LETTER * max(map(len, lines))
    height = 2 * EDGE + LINE * len(lines)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">'
        f"<title>What make demo prints</title><style>{STYLE}</style>"
        f'<rect width="100%" height="100%" rx="6" fill="#1c2128"/>'
    ]
    for number, line in enumerate(lines):
        text = line.strip()
        css = "stage" if text.startswith(("==", "$")) else "shown" if text.startswith("▲") else ""
        x = EDGE + LETTER * (len(line) - len(line.lstrip()))
        drawn.append(
            f'<text xml:space="preserve" class="{css}" x="{x:.1f}" y="{EDGE + LINE * number + 13}" '
            f'textLength="{LETTER * len(text):.1f}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        )
    return "\n".join([*drawn, "</svg>"]) + "\n"


def report(folder: Path) -> str:
    """Make the report of the recorded campaign in a folder; return its page."""
    with tarfile.open(RECORDED / "results.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    new_report = make_report(str(folder / "demo"))
    return Path(new_report["files"]["report.html"]).read_text()


def photograph(page: Path, picture: Path, height: int) -> None:
    """Write what chromium shows of a page."""
    options = (
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        f"--window-size={WIDTH},{height}",
        f"--screenshot={picture}",
    )
    subprocess.run(
        ["chromium", *options, page.as_uri()], check=True, timeout=120, capture_output=True
    )


def make(folder: Path) -> None:
    """Write all pictures into a folder."""
    (folder / "console.svg").write_text(console())
    with tempfile.TemporaryDirectory() as name:
        text = report(Path(name))
        for picture, (hidden, height) in PARTS.items():
            page = Path(name, f"{picture}.html")
            page.write_text(
                text.replace(
                    "</head>", f"<style>{hidden} {{ display: none }}{TOP}</style></head>", 1
                )
            )
            photograph(page, (folder / picture).resolve(), height)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
