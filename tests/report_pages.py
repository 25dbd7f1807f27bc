# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the report share: small campaigns with a known truth, and a strict reader of
the page.
"""

from __future__ import annotations

from html.parser import HTMLParser

from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic

VOID = {"meta", "link", "br", "hr", "img", "input"}
LOADING = {"src", "srcset", "data", "action", "poster", "background", "xlink:href"}


def manifest(**changed):
    """A manifest as role measure writes it, of two hosts; ``changed`` are parts of node2 after the
    campaign.
    """

    def node(name, governor):
        return {
            "host": {
                "kernel": "6.12.1",
                "boot_id": name,
                "hostname": name,
                "cpus": {"model": "Test CPU", "online": "0-1", "governor": governor},
                "command_line": ["mitigations=off", "quiet"],
                "tools": {"netperf": "Netperf version 2.7.0", "ethtool": "ethtool version 6.1"},
            },
            "links": {"underlay0": {"mtu": 9000, "speed_mbps": 10000}},
            "ovs": {"version": "3.1.0", "bridges": {"br-int": {"datapath": "system"}}},
            "devices": {
                "underlay0": {
                    "driver": {"driver": "testnic", "firmware-version": "1.2"},
                    "features": {"rx-gro": {"active": True, "fixed": False}},
                }
            },
        }

    before = {"node1": node("node1", "performance"), "node2": node("node2", "powersave")}
    return {
        "schema": 1,
        "campaign": "test",
        "nodes": {
            name: {"before": parts, "after": dict(parts, **(changed if name == "node2" else {}))}
            for name, parts in before.items()
        },
    }


def campaign(folder, plan, trials, conditions=None):
    """Write a results folder and make its report; return what :func:`make_report` returns."""
    synthetic.write(str(folder), plan, trials, conditions)
    return make_report(str(folder))


class Page(HTMLParser):
    """Reads a page and refuses what is not closed, not unique, or would load something."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.idents = set()
        self.links = set()
        self.words = []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"
        assert not self.links - self.idents, f"links to nowhere: {self.links - self.idents}"

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self._attributes(tag, dict(attrs))

    def handle_startendtag(self, tag, attrs):
        self._attributes(tag, dict(attrs))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (
            f"</{tag}> closes {self.open[-3:]} at {self.getpos()}"
        )
        self.open.pop()

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    def _attributes(self, tag, attributes):
        ident = attributes.get("id")
        if ident is not None:
            assert ident not in self.idents, f"id {ident} twice"
            self.idents.add(ident)
        assert tag not in ("script", "link", "iframe", "object", "embed", "img", "image"), tag
        assert not LOADING & set(attributes), attributes
        assert not any(name.startswith("on") for name in attributes), attributes
        if "href" in attributes:
            assert attributes["href"].startswith("#"), attributes["href"]
            self.links.add(attributes["href"][1:])
