# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small model of a host: what the kernel and Open vSwitch make of the steps of a plan for
tenants.
"""

from __future__ import annotations

import copy

from ansible_collections.offload.lab.plugins.module_utils._base.network import OWNER
from ansible_collections.offload.lab.plugins.module_utils._ovs import ovs_state

HOST = None


class Host:
    """Namespaces, links and ports as the kernel and Open vSwitch keep them; ``run`` obeys the steps
    of a plan.
    """

    def __init__(self):
        self.spaces = {HOST: {"lo": self.link("lo", 1)}}
        self.ports = {}
        self.root = {"next_cfg": 5, "cur_cfg": 5}
        self.count = 1
        self.waited = []

    @staticmethod
    def link(name, index, **more):
        return dict(
            {
                "name": name,
                "index": index,
                "mtu": 1500,
                "up": False,
                "mac": "kernel's",
                "alias": None,
                "peer": None,
                "peer_index": None,
                "peer_netns": None,
                "global": [],
                "addresses": [],
                "kind": None,
                "data": {},
                "addrgenmode": "eui64",
                "neighbors": {},
            },
            **more,
        )

    def seen(self):
        ids = dict((name, number) for number, name in enumerate(sorted(filter(None, self.spaces))))
        spaces = copy.deepcopy(self.spaces)
        for links in spaces.values():
            for link in links.values():
                link["peer_netns"] = ids.get(link["peer_netns"])
        bridges = {"br-int": {"name": "br-int", "external_ids": {OWNER: "switch"}}}
        ovs = dict(
            ovs_state.empty(),
            running=True,
            vswitchd=True,
            root=dict(self.root),
            bridges=bridges,
            ports=copy.deepcopy(self.ports),
        )
        return {"links": spaces.pop(HOST), "inside": spaces, "ids": ids, "ovs": ovs, "ipv6": True}

    def new_index(self):
        self.count += 1
        return self.count

    def veth(self, name, mtu, other, space, mac=None):
        first = self.new_index()
        second = self.new_index()
        assert name not in self.spaces[HOST]
        assert other not in self.spaces[space]
        away = space is not HOST
        self.spaces[HOST][name] = self.link(
            name,
            first,
            mtu=mtu,
            kind="veth",
            peer=None if away else other,
            peer_index=second if away else None,
            peer_netns=space,
        )
        self.spaces[space][other] = self.link(
            other,
            second,
            mtu=mtu,
            kind="veth",
            peer=None if away else name,
            peer_index=first if away else None,
            mac=mac or "kernel's",
        )

    def delete(self, space, name):
        link = self.spaces[space].pop(name)
        for links in self.spaces.values():
            for other in list(links.values()):
                if other["peer_index"] == link["index"] or (
                    other["peer"] == name and link["peer"] == other["name"]
                ):
                    del links[other["name"]]

    def line(self, space, line):
        line_words = line.split()
        if line_words[:2] == ["netns", "add"]:
            assert line_words[2] not in self.spaces
            self.spaces[line_words[2]] = {"lo": self.link("lo", 1)}
        elif line_words[:2] == ["netns", "del"]:
            for name in list(self.spaces[line_words[2]]):
                self.delete(line_words[2], name)
            del self.spaces[line_words[2]]
        elif line_words[:2] == ["link", "add"]:
            more = dict(zip(line_words[6::2], line_words[7::2]))
            self.veth(
                line_words[3],
                int(line_words[5]),
                more["name"] if "name" in more else line_words[line_words.index("peer") + 2],
                line_words[line_words.index("netns") + 1] if "netns" in line_words else HOST,
                line_words[line_words.index("address") + 1] if "address" in line_words else None,
            )
        elif line_words[:2] == ["link", "del"]:
            self.delete(space, line_words[3])
        elif line_words[:2] == ["link", "set"]:
            self.set(self.spaces[space][line_words[3]], line_words[4:])
        elif line_words[0] == "neigh":
            self.neighbor(self.spaces[space][line_words[line_words.index("dev") + 1]], line_words)
        else:
            assert line_words[0] == "address"
            self.address(self.spaces[space][line_words[4]], line_words)

    @staticmethod
    def neighbor(link, words_of_line):
        if words_of_line[1] == "del":
            del link["neighbors"][words_of_line[2]]
        else:
            assert (words_of_line[1], words_of_line[3], words_of_line[-2:]) == (
                "replace",
                "lladdr",
                ["nud", "permanent"],
            )
            link["neighbors"][words_of_line[2]] = words_of_line[4]

    @staticmethod
    def address(link, words_of_line):
        (link["global"].append if words_of_line[1] == "add" else link["global"].remove)(
            words_of_line[2]
        )
        link["global"].sort(key=lambda text: ":" in text)  # as ip prints them
        if all(
            ":" in text for text in link["global"]
        ):  # without IPv4 the kernel forgets the neighbours of IPv4
            link["neighbors"] = dict(
                (text, mac) for text, mac in link["neighbors"].items() if ":" in text
            )

    @staticmethod
    def set(link, words_of_line):
        while words_of_line:
            if words_of_line[0] == "up":
                link["up"] = True
                words_of_line = words_of_line[1:]
            else:
                if words_of_line[0] == "address":
                    link["neighbors"] = {}
                link["mac" if words_of_line[0] == "address" else words_of_line[0]] = (
                    int(words_of_line[1]) if words_of_line[0] == "mtu" else words_of_line[1]
                )
                words_of_line = words_of_line[2:]

    def vsctl(self, words_of_line):
        self.waited.append("--no-wait" not in words_of_line)
        for command in " ".join(words_of_line[2:]).replace("--no-wait ", "").split(" -- "):
            verb, *rest = command.split()
            if verb == "add-port":
                assert rest[1] not in self.ports
                self.ports[rest[1]] = port("br-int", None)
            elif verb == "del-port":
                del self.ports[rest[1]]
            elif verb == "set" and rest[0] == "Port":
                assert rest[2] == f'external_ids:"{OWNER}"="tenants"'
                self.ports[rest[1]]["external_ids"] = {OWNER: "tenants"}
            elif verb == "set":
                self.root["next_cfg"] = int(rest[-1].split("=")[1])

    def run(self, steps):
        for step in steps:
            if step.argv[0] == "ovs-vsctl":
                self.vsctl(step.argv)
            else:
                space = step.netns or HOST
                for line in step.stdin.splitlines():
                    self.line(space, line)


def port(bridge, owner):
    return {
        "bridge": bridge,
        "external_ids": {OWNER: owner} if owner else {},
        "other_config": {},
        "protected": False,
        "tag": [],
        "interface": {"type": "", "options": {}},
    }
