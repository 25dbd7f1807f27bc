# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a matplotlib figure to inline SVG: page colours, page font, a text equivalent, the same bytes every time.

Figures are drawn in units of 1/72 inch, which a browser shows as one pixel at the figure's natural width.
"""
from __future__ import annotations

import contextlib
import io
import os
import re
from html import escape

from ansible_collections.offload.lab.plugins.module_utils._errors import LabError

# Matplotlib wants colours, the page has light and dark: each colour here stands for a CSS variable of the page.
COLOURS = {
    "ink": "#101418", "muted": "#586069", "line": "#d0d7de", "band": "#eaeef2", "paper": "#fefefe",
    "better": "#0072b2", "worse": "#d55e00", "same": "#808891",
    "user": "#56b4e9", "system": "#0173b3", "softirq": "#d65e01", "irq": "#cc79a7", "steal": "#1d2021",
    "iowait": "#b8bec5", "busy": "#0273b3",
}
HEAT_STEPS = 9
COLOURS.update((f"heat{step}", f"#e1e1{step:02x}") for step in range(HEAT_STEPS))
_VARIABLES = dict((colour, f"var(--{name})") for name, colour in COLOURS.items())
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_FONT = re.compile(r"font(-family)?: (?P<size>[\d.]+px)? ?'?[^;\"]*'?(?P<end>[;\"])")
_DECIMALS = re.compile(r"(\d+\.\d\d)\d+")
_NAMED_GROUP = re.compile(r'<g id="[a-zA-Z]\w*_\d+"')
_REFERENCE = re.compile(r'(?P<before> id="|xlink:href="#|url\(#)')
_BREAKS = re.compile(r"\s*\n\s*")


def library():
    """Return the matplotlib package, or tell which package to install."""
    try:
        import matplotlib  # noqa: PLC0415
    except ImportError:
        raise LabError("the Python package matplotlib is missing on the controller", "report",
                       "Install it with: pip install matplotlib")
    return matplotlib


@contextlib.contextmanager
def drawing():
    """Draw with matplotlib's defaults, whatever the user's own settings are, so that all machines draw the same."""
    matplotlib = library()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({
            "svg.fonttype": "none", "svg.hashsalt": "offload.lab", "path.simplify": False, "figure.dpi": 72,
            "axes.edgecolor": COLOURS["muted"], "axes.linewidth": 0.8, "text.color": COLOURS["ink"],
            "xtick.color": COLOURS["muted"], "ytick.color": COLOURS["muted"], "font.size": 11})
        yield


def font(size=11.0, bold=False):
    """Return matplotlib's own font by its file: a system's copy may have other measures."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return FontProperties(fname=os.path.join(library().get_data_path(), "fonts", "ttf", name), size=size)


def figure(width, height):
    """Return an empty figure without background; ``width`` and ``height`` in pixels."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    new = Figure(figsize=(width / 72, height / 72), dpi=72)
    new.patch.set_visible(False)
    new.offload_lab_extra = []  # what is drawn past matplotlib, as SVG
    FigureCanvasSVG(new)
    return new


def axes(fig, left, bottom, right, top):
    """Return axes at a place given by margins in pixels; only the bottom line is drawn."""
    width, height = fig.get_size_inches() * 72
    new = fig.add_axes([left / width, bottom / height, (width - left - right) / width,
                        (height - bottom - top) / height])
    new.patch.set_visible(False)
    for side in ("top", "left", "right"):
        new.spines[side].set_visible(False)
    new.tick_params(axis="both", length=3, pad=3)
    new.set_yticks([])
    return new


def words(fig, place, text, colour="ink", size=11, anchor="start"):  # noqa: PLR0917
    """Write text at a place (pixels from the left and from the top to its middle).

    It goes past matplotlib, whose layout of a text takes longer than all else in a figure of 40 rows.
    """
    style = f"fill: {COLOURS[colour]}; font-size: {size}px; text-anchor: {anchor}"
    fig.offload_lab_extra.append(
        f'<text x="{place[0]:.1f}" y="{place[1] + 0.36 * size:.1f}" style="{style}">{escape(text)}</text>')


def swatch(fig, place, colour, form="s"):
    """Draw a legend's square ``s``, small square ``S`` or ring ``O``, its left middle at the place."""
    left, top = place
    if form == "O":
        shape = f'<circle cx="{left + 5:.1f}" cy="{top:.1f}" r="2.6" style="fill: none; stroke: {COLOURS[colour]}"/>'
    else:
        size = 5 if form == "S" else 10
        shape = (f'<rect x="{left + 5 - size / 2:.1f}" y="{top - size / 2:.1f}" width="{size}" height="{size}" '
                 f'style="fill: {COLOURS[colour]}"/>')
    fig.offload_lab_extra.append(shape)


def boxes(ax, corners, colour, edge=0.0):
    """Fill boxes ``[(left, bottom, right, top)]`` as one path, which is far quicker than one patch each."""
    from matplotlib.patches import PathPatch  # noqa: PLC0415
    from matplotlib.path import Path  # noqa: PLC0415

    if corners:
        points = [point for left, bottom, right, top in corners
                  for point in ((left, bottom), (right, bottom), (right, top), (left, top), (left, bottom))]
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(corners)
        ax.add_artist(PathPatch(Path(points, codes), facecolor=colour, edgecolor=COLOURS["paper"], linewidth=edge))


def ticks(ax, axis, places, labels):
    """Put labelled ticks on the ``x`` or ``y`` axis."""
    which = getattr(ax, f"{axis}axis")
    which.set_ticks(places, labels, fontproperties=font(10), color=COLOURS["muted"])
    which.set_ticks([], minor=True)


def _font_style(match):
    return f"font-size: {match.group('size')}{match.group('end')}" if match.group("size") else ""


def to_svg(fig, ident, title, description):
    """Return a figure as one inline ``<svg>`` element; ``ident`` is unique on the page."""
    width, height = fig.get_size_inches() * 72
    stream = io.StringIO()
    fig.savefig(stream, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = stream.getvalue()
    body = text[text.index("</defs>") + len("</defs>"):text.rindex("</svg>")] + "".join(fig.offload_lab_extra)
    body = _NAMED_GROUP.sub("<g", body)
    body = _REFERENCE.sub(lambda found: found.group("before") + ident + "-", body)
    body = _COLOUR.sub(lambda found: _VARIABLES.get(found.group(0), found.group(0)), body)
    body = _DECIMALS.sub(r"\1", _FONT.sub(_font_style, body)).replace("xlink:href", "href")
    body = _BREAKS.sub(" ", body).replace("> <", "><")
    return (
        f'<svg class="figure" role="img" viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width * 1.25:.0f}px" '
        f'aria-labelledby="{ident}-title {ident}-desc"><title id="{ident}-title">{escape(title)}</title>'
        f'<desc id="{ident}-desc">{escape(description)}</desc>{body}</svg>')
