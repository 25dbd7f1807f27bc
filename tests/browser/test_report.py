# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report in a real browser: wide and narrow, light and dark; nothing cut, nothing overlapping,
nothing loaded.
"""

from __future__ import annotations

import html
import json
import re

import pytest

from ansible_collections.offload.lab.tests.instruments.simulation import synthetic
from ansible_collections.offload.lab.tests.report_campaigns import CAMPAIGNS
from ansible_collections.offload.lab.tests.report_pages import campaign, manifest
from ansible_collections.offload.lab.tests.support import run

WIDTHS = (1280, 400)
SCHEMES = {"dark": 0, "light": 1}  # as Blink numbers them
WORKLOADS = ("tcp_stream", "udp_stream", "tcp_rr")
# The page forbids scripts for itself, so a page around it looks inside its frames.
HARNESS = """<!DOCTYPE html><body>%s<pre id="found"></pre><script>
const edges = (box) => [box.left, box.right, box.top, box.bottom];
function figure(svg) {
  const [left, right] = edges(svg.getBoundingClientRect());
  const texts = [...svg.querySelectorAll('text')].filter(text => text.textContent.trim());
  const boxes = texts.map(text => edges(text.getBoundingClientRect()));
  const cut = texts.filter((text, one) => boxes[one][0] < left - 1 || boxes[one][1] > right + 1);
  const over = texts.filter((text, one) => boxes.some((box, two) => two > one && box[0] + 1 < boxes[one][1]
    && boxes[one][0] + 1 < box[1] && box[2] + 2 < boxes[one][3] && boxes[one][2] + 2 < box[3]));
  return [...cut.map(text => 'cut: ' + text.textContent), ...over.map(text => 'overlaps: ' + text.textContent)];
}
function look(frame) {
  const inside = frame.contentDocument, view = frame.contentWindow, width = inside.documentElement.clientWidth;
  const wide = [...inside.querySelectorAll('body *')].filter(
    one => !one.closest('.scroll') && !one.closest('svg') && one.getBoundingClientRect().right > width + 1);
  return {name: frame.name, width: width, scroll: inside.documentElement.scrollWidth,
          wide: wide.map(one => one.tagName + ' ' + one.textContent.slice(0, 60)),
          figures: inside.querySelectorAll('svg').length,
          trouble: [...inside.querySelectorAll('svg')].flatMap(figure),
          small: [...inside.querySelectorAll('svg text')].filter(
            text => text.getBoundingClientRect().height && text.getBoundingClientRect().height < 9).length,
          dark: view.matchMedia('(prefers-color-scheme: dark)').matches,
          paper: view.getComputedStyle(inside.body).backgroundColor,
          ink: view.getComputedStyle(inside.querySelector('h1')).color,
          loaded: view.performance.getEntriesByType('resource').map(one => one.name)};
}
addEventListener('load', () => {
  document.getElementById('found').textContent = JSON.stringify([...document.querySelectorAll('iframe')].map(look));
});
</script>"""


@pytest.fixture(scope="module")
def reports(chromium_required, tmp_path_factory):
    """Reports that have every kind of figure, with long names and many rows."""
    pages = {}
    for name, factors, design, workloads in (
        ("on_off", 4, "on_off", WORKLOADS[:2]),
        ("one_at_a_time", 8, "one_at_a_time", WORKLOADS),
        ("leave_one_out", 40, "leave_one_out", WORKLOADS[:1]),
    ):
        plan = synthetic.make_plan(
            factors,
            blocks=12 if factors > 4 else 6,
            design=design,
            workloads=workloads,
            mtus=(9000, 1500) if factors == 8 else (9000,),
            name=name,
        )
        folder = tmp_path_factory.mktemp(name)
        campaign(
            folder,
            plan,
            synthetic.make_trials(plan, cpus=16, marked=0.02, failures=0.01),
            manifest(),
        )
        pages[name] = folder / "report.html"
    for name, make in CAMPAIGNS.items():
        folder = tmp_path_factory.mktemp(name)
        campaign(folder, *make(), manifest())
        pages[name] = folder / "report.html"
    return pages


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_page_in_a_browser(reports, tmp_path, scheme):
    frames = "".join(
        f'<iframe name="{name} {width}" src="{path}" style="width:{width}px;height:900px;border:0"></iframe>'
        for name, path in reports.items()
        for width in WIDTHS
    )
    (tmp_path / "harness.html").write_text(HARNESS % frames)
    output = run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--allow-file-access-from-files",
            "--host-resolver-rules=MAP * ~NOTFOUND",  # the browser's own calls home stay here
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            "--virtual-time-budget=20000",
            "--dump-dom",
            f"file://{tmp_path / 'harness.html'}",
        ],
        timeout=300,
    )
    page_state = json.loads(
        html.unescape(re.search(r'<pre id="found">(.+?)</pre>', output, re.S).group(1))
    )
    assert [page["name"] for page in page_state] == [
        f"{name} {width}" for name in reports for width in WIDTHS
    ]
    for page in page_state:
        where = f"{page['name']} {scheme}"
        assert page["width"] == int(page["name"].split()[1]), where
        assert page["wide"] == [] and page["scroll"] == page["width"], where
        assert page["figures"] >= 7 and page["trouble"] == [] and page["small"] == 0, where
        assert page["loaded"] == [], where
        assert page["dark"] is (scheme == "dark"), where
        assert (brightness(page["paper"]) + 120 < brightness(page["ink"])) is page["dark"], where
