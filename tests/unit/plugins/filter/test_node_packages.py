# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages of a node, which role common installs, on each operating system.

The identities are the lines of /etc/os-release of these systems. The names of packages come from
what others install there; ``SOURCES`` has the public files and threads.
"""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.filter.node_packages import node_packages
from ansible_collections.offload.lab.plugins.plugin_utils._request.packages import (
    FAMILIES,
    family_of,
)

SYSTEMS = {
    "Debian 12": ("debian", "", "12"),
    "Ubuntu 24.04": ("ubuntu", "debian", "24.04"),
    "RHEL 9": ("rhel", "fedora", "9.6"),
    "RHEL 8": ("rhel", "fedora", "8.10"),
    "Rocky 9": ("rocky", "rhel centos fedora", "9.6"),
    "AlmaLinux 9": ("almalinux", "rhel centos fedora", "9.6"),
    "CentOS Stream 10": ("centos", "rhel fedora", "10"),
    "Fedora": ("fedora", "", "42"),
    "openSUSE Leap 15.6": ("opensuse-leap", "suse opensuse", "15.6"),
    "openSUSE Tumbleweed": ("opensuse-tumbleweed", "opensuse suse", "20240801"),
    "SLES 15": ("sles", "suse", "15.6"),
    "Alpine": ("alpine", "", "3.20.3"),
    "Arch": ("arch", "", ""),
    "Manjaro": ("manjaro", "arch", ""),
}
SOURCES = {
    "Debian 12": (
        "openvswitch-switch",
        "iputils-ping",
        "Debian's archive; tests/installed installs it",
    ),
    "Ubuntu 24.04": (
        "openvswitch-switch",
        "iputils-ping",
        "the archive; tests/installed installs it",
    ),
    "RHEL 9": ("openvswitch3.5", "iputils", "openshift: rpm-ostree install openvswitch3.5"),
    "RHEL 8": ("openvswitch3.1", "iputils", "a Vagrantfile with powertools and openvswitch3.1"),
    "Rocky 9": ("openvswitch3.5", "iputils", "NFV SIG: dnf install openvswitch3.5.x86_64"),
    "AlmaLinux 9": ("openvswitch3.5", "iputils", "none found; a rebuild of RHEL as Rocky is"),
    "CentOS Stream 10": (
        "openvswitch3.5",
        "iputils",
        "nmstate#3013 has 3.4; a Vagrantfile with crb has 3.5",
    ),
    "Fedora": ("openvswitch", "iputils", "OVN's image of Fedora 37"),
    "openSUSE Leap 15.6": ("openvswitch", "iputils", "os-autoinst-distri-opensuse#18789"),
    "openSUSE Tumbleweed": ("openvswitch", "iputils", "the same"),
    "SLES 15": ("openvswitch", "iputils", "the same, for 15 SP6"),
    "Alpine": ("openvswitch", "iputils-ping", "aports: community/openvswitch"),
    "Arch": ("openvswitch", "iputils", "svntogit-community: openvswitch"),
    "Manjaro": ("openvswitch", "iputils", "the same"),
}


def distribution(system):
    identity, like, version = SYSTEMS[system]
    return {"id": identity, "like": like.split(), "version": version, "name": system}


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_system_has_a_package_of_each_program(system):
    packages = node_packages(["iperf3"], distribution(system))
    switch, ping, _source = SOURCES[system]
    assert (packages["ovs-vsctl"], packages["ovs-ctl"], packages["ping"]) == (switch, switch, ping)
    assert [program for program, package in packages.items() if not package] == []


def test_each_family_is_a_system_of_this_test():
    assert {family_of(distribution(system)) for system in SYSTEMS} == set(FAMILIES)


@pytest.mark.parametrize(
    ("names", "debian", "suse"),
    [
        (
            ["netperf"],
            {"netperf": "netperf", "netserver": "netperf"},
            {"netperf": "", "netserver": ""},
        ),
        (["iperf3", "payload"], {"iperf3": "iperf3"}, {"iperf3": "iperf"}),
        (["sockets"], {}, {}),
        (
            ["auto"],
            {"netperf": "netperf", "netserver": "netperf", "iperf3": "iperf3"},
            {"netperf": "", "netserver": "", "iperf3": "iperf"},
        ),
    ],
)
def test_engines_add_their_programs(names, debian, suse):
    for system, of_engines in (("Debian 12", debian), ("SLES 15", suse)):
        every = node_packages(names, distribution(system))
        common = node_packages([], distribution(system))
        assert every == {**common, **of_engines}


def test_without_a_system_the_programs_are_named_alone():
    packages = node_packages(["iperf3"])
    assert list(packages) == list(node_packages(["iperf3"], distribution("Arch")))
    assert set(packages.values()) == {""}
    assert node_packages(["iperf3"], {"id": "void", "like": [], "version": ""}) == packages


def test_an_unknown_engine():
    with pytest.raises(AnsibleFilterError, match="node_packages: .*Use one of netperf"):
        node_packages(["netprf"])
