# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._observe import conditions

INTERRUPTS = """           CPU0       CPU1
 24:          0          0  PCI-MSI 65536-edge      eth0-rx-0
 25:          5          9  PCI-MSI 65537-edge      eth0
 26:          5          9  PCI-MSI 65538-edge      mlx5_comp0@pci:0000:05:00.0
 27:          5          9  PCI-MSI 65538-edge      eth01
NMI:          0          0   Non-maskable interrupts
"""


def test_interrupts_of_a_device_and_of_no_other():
    assert conditions.interrupts(INTERRUPTS, "eth0") == [24, 25]
    assert conditions.interrupts(INTERRUPTS, "eth") == []


def test_a_secret_on_the_command_line_is_not_told():
    kept_words = conditions.command_line(
        "quiet token=hunter2 mitigations=off isolcpus=1-3 password"
    )
    assert kept_words == ["token", "mitigations=off", "isolcpus=1-3"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ('a="hunter2 b c" nosmt', ["a", "nosmt"]),
        ("root=/dev/vda -- --token hunter2 mitigations=hunter2", ["root"]),
        ('a="x -- y" nosmt -- hunter2', ["a", "nosmt"]),
        ("hunter2 {{hunter2}}=1 <b>=2 a\\tb=3", []),
        (None, []),
    ],
)
def test_words_alone_and_what_is_for_the_first_process_are_left_out(text, expected):
    assert conditions.command_line(text) == expected


@pytest.mark.parametrize(
    "cpuinfo, model",
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC 7763\n", "AMD EPYC 7763"),
        ("processor\t: 0\nCPU part\t: 0xd0c\n", "0xd0c"),
    ],
)
def test_cpu_model(cpuinfo, model):
    assert conditions.cpu_model(cpuinfo) == model


def test_this_machine_has_a_kernel_and_leaves_out_what_it_lacks():
    host = conditions.host()
    assert host["kernel"] and host["boot_id"] and host["sysctls"]["net.ipv4.tcp_rmem"]
    assert None not in host.values()
    assert conditions.link("no-such-device") == {}
