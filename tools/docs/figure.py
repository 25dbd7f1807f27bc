# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figure of docs/offloads.md: where on a packet's way each offload acts.

Writes docs/figures/offloads.svg.
"""

from __future__ import annotations

from pathlib import Path

from ansible_collections.offload.lab.plugins.plugin_utils._figures import marks
from ansible_collections.offload.lab.plugins.plugin_utils._figures.marks import Figure
from ansible_collections.offload.lab.plugins.plugin_utils._report import html

FILE = Path(__file__).resolve().parents[2] / "docs/figures/offloads.svg"
STATIONS = ("application", "TCP", "switch and tunnel", "driver", "network card")
SENDING = {
    1: ("GSO, TSO: data of 64 KB", "stays whole"),
    2: ("one header for", "all of it"),
    3: ("GSO: cut here, where", "the card cannot"),
    4: ("TSO: cut here; tx:", "checksums filled in"),
}
RECEIVING = {
    4: ("rx: checksums checked;", "LRO; hash for queues"),
    3: ("GRO: packets of one", "stream merged"),
    2: ("one look for", "all of them"),
    1: ("fewer, larger", "packets"),
}
WIDTH = 620
TOP = 46
ROW = 52
BOX = 150
STYLE = (
    "text{font:12px sans-serif;fill:#1c2128}text.muted{fill:#59636e;font-size:11px}"
    ".f-band{fill:#e9edf2}.s-better{stroke:#00629b;fill:none;stroke-width:2}"
    ".s-worse{stroke:#b84500;fill:none;stroke-width:2}"
)


def figure() -> Figure:
    """Return the figure: the sender's way down on the left, the receiver's way up on the right."""
    drawn = Figure(
        "Where on a packet's way each offload acts",
        "Sending, data goes down from the application to the card; receiving, it goes up.",
        TOP + ROW * len(STATIONS) + 26,
        WIDTH,
    )
    middle = WIDTH / 2
    ends = TOP + ROW * len(STATIONS) - 16
    for index, station in enumerate(STATIONS):
        top = TOP + ROW * index
        drawn.shape("f-band", [marks.box(middle - BOX / 2, top, middle + BOX / 2, top + ROW - 16)])
        drawn.words((middle, top + (ROW - 16) / 2), station, anchor="middle")
        for lines, x, anchor in (
            (SENDING.get(index), middle - BOX / 2 - 34, "end"),
            (RECEIVING.get(index), middle + BOX / 2 + 34, "start"),
        ):
            for number, line in enumerate(lines or ()):
                drawn.words((x, top + 10 + 16 * number), line, "muted", anchor)
    for x, css, word, (tail, tip) in (
        (middle - BOX / 2 - 18, "s-better", "sending", (TOP, ends)),
        (middle + BOX / 2 + 18, "s-worse", "receiving", (ends, TOP)),
    ):
        back = 8 if tip > tail else -8
        head = marks.line((x - 5, tip - back), (x, tip), (x + 5, tip - back))
        drawn.shape(css, [marks.line((x, tail), (x, tip)), head])
        drawn.words((x, 26), word, anchor="middle")
    return drawn


def svg() -> str:
    """Return the figure as an SVG file."""
    template = html.environment().from_string(
        '{% import "figure.j2" as draw %}{{ draw.figure(drawn, "offloads") }}'
    )
    text = template.render(drawn=figure()).replace(
        "<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1
    )
    return text.replace("<title ", f"<style>{STYLE}</style><title ", 1) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(svg())
