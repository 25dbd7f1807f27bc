# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds import steering
from ansible_collections.offload.lab.plugins.module_utils._kinds.steering import (
    BALANCER,
    IRQ_AFFINITY,
    READ_MASKS,
)

# of a virtio card on PCI, and of a card with MSI
FOUND = """/sys/class/net/eth0/device/../msi_irqs/38
/sys/class/net/eth0/device/../msi_irqs/39
/sys/class/net/ens1/device/msi_irqs/61
"""
MASKS = """/proc/irq/0/smp_affinity:3
/proc/irq/38/smp_affinity:1
/proc/irq/39/smp_affinity:00000000,00000003
/proc/irq/61/smp_affinity:3
"""


class Reader:
    """Stands for a node with these interrupts."""

    def __init__(self, balancer=""):
        self.balancer = balancer

    def read_output(self, argv, netns):
        if argv == BALANCER:
            return self.balancer, None
        return (MASKS if argv == READ_MASKS else FOUND), None


@pytest.fixture(autouse=True)
def four_cpus(tmp_path, monkeypatch):
    online = tmp_path / "online"
    online.write_text("0-3\n")
    monkeypatch.setattr(steering, "ONLINE", str(online))


@pytest.fixture
def states():
    return IRQ_AFFINITY.read({"eth0": [], "ens1": [], "veth0": []}, None, Reader())


def plan(settings, state, report_fixed=False):
    return IRQ_AFFINITY.plan({"irq_affinity": settings}, state, "eth0", report_fixed)


def test_the_interrupts_of_each_device_are_read(states):
    assert states["eth0"]["current"] == {"irq-38": "1", "irq-39": "3"}
    assert states["ens1"]["current"] == {"irq-61": "3"}
    assert states["veth0"] == {"supported": False, "reason": "it has no interrupts of its own"}


def test_what_irqbalance_sets_is_left_to_it():
    state = IRQ_AFFINITY.read({"eth0": []}, None, Reader("812\n"))["eth0"]
    assert state == {"supported": False, "reason": "irqbalance runs, which would change it again"}
    assert IRQ_AFFINITY.kept(IRQ_AFFINITY.described(state)) == {}


def test_devices_of_other_namespaces_have_none():
    assert not IRQ_AFFINITY.read({"eth0": []}, "red", Reader())["eth0"]["supported"]


def test_masks_are_written_and_one_that_is_gone_is_not(states):
    planned = plan({"cpus": "3"}, states["eth0"])
    assert IRQ_AFFINITY.writes(planned["change"], "eth0") == [("/proc/irq/38/smp_affinity", "3")]
    gone = plan({"irq-38": "f", "irq-77": "f"}, states["eth0"], report_fixed=True)
    assert list(gone["change"]) == ["irq-38"]
    assert gone["fixed"]["irq-77"]["reason"] == "there is no such irq"


@pytest.mark.parametrize("cpus", ["off", "0", "10", "x"])
def test_an_interrupt_has_a_cpu_of_this_host(states, cpus):
    with pytest.raises(InputError):
        plan({"cpus": cpus}, states["eth0"])


@pytest.mark.parametrize("level", ["off", "0", "00000000,00000000"])
def test_levels_without_a_cpu(level):
    with pytest.raises(ValueError, match="not 0"):
        IRQ_AFFINITY.value(level)
    assert IRQ_AFFINITY.value("all") == "all"
    assert IRQ_AFFINITY.value("f0") == "f0"


def test_at_boot_all_interrupts_get_the_mask_whatever_their_numbers():
    (line,) = IRQ_AFFINITY.shell({"irq-38": "3", "irq-39": "3"}, "eth0")
    assert "/sys/class/net/eth0/device/../msi_irqs/*" in line
    assert "echo 3 >/proc/irq/${irq##*/}/smp_affinity" in line
