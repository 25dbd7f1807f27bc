# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions of a node that can change a result: kernel, CPUs, sysctls, interrupts, versions of
the tools.

Files: Documentation/admin-guide (sysctl, cputopology), Documentation/core-api/irq. What a node has
not is left out.
"""

from __future__ import annotations

import contextlib
import glob
import os
import platform
import re
from typing import Any, Iterable

from .._base import network
from .._base.errors import CommandError, LabError
from .._host import bpf, netns, runner

SYSCTLS = (
    "net.core.rmem_max",
    "net.core.rmem_default",
    "net.core.wmem_max",
    "net.core.wmem_default",
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.dev_weight",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.rps_sock_flow_entries",
    "net.core.high_order_alloc_disable",
    "net.core.optmem_max",
    "net.core.gro_normal_batch",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_tso_rtt_log",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.udp_mem",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
    "net.ipv4.ip_forward",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "vm.swappiness",
)
CPU = "/sys/devices/system/cpu"
# A command line may carry a secret: these parameters are kept. Of others the name is kept where they have
# a value; a word alone may be a secret itself.
CMDLINE_VALUES = re.compile(
    r"^(mitigations|isolcpus|nohz|nohz_full|rcu_nocbs|intel_pstate|amd_pstate|intel_idle\.max_cstate|"
    r"processor\.max_cstate|idle|nosmt|iommu|intel_iommu|amd_iommu|hugepages|hugepagesz|default_hugepagesz|"
    r"transparent_hugepage|numa_balancing|irqaffinity|cpuidle\.off|skew_tick|tsc|clocksource)(=|$)"
)
CMDLINE_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')  # next_arg() of lib/cmdline.c
CMDLINE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}\Z")
LONGEST_WORD = 120


def read(path: str) -> str | None:
    """Return a file's text without white space around it, or None where it is missing or not
    readable.
    """
    try:
        with open(path) as stream:
            return stream.read().strip()
    except (OSError, UnicodeDecodeError):
        return None


def present(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dict of the pairs whose value is known."""
    return {name: value for name, value in pairs if value not in (None, "", {}, [])}


def sysctls() -> dict[str, str]:
    """Return the sysctls that bear on network performance, by name."""
    return present((name, read("/proc/sys/" + name.replace(".", "/"))) for name in SYSCTLS)


def command_line(text: str | None) -> list[str]:
    """Return the kernel's parameters: values only of those known to bear on performance, the names of
    others that have a value, and nothing of what stands behind ``--``.
    """
    shown: list[str] = []
    for word in CMDLINE_WORD.findall(text or ""):
        name, equals, _value = word.partition("=")
        if word == "--":
            break
        if CMDLINE_VALUES.match(word):
            shown.append(word[:LONGEST_WORD])
        elif equals and CMDLINE_NAME.match(name):
            shown.append(name)
    return shown


def cpu_model(cpuinfo: str | None) -> str:
    """Return the CPU's name from /proc/cpuinfo (``model name`` on x86, ``CPU part`` on Arm)."""
    for field in ("model name", "cpu model", "cpu", "CPU part"):
        match = re.search(f"^{field}\\s*:\\s*(.+)$", cpuinfo or "", re.MULTILINE)
        if match:
            return match.group(1)
    return platform.machine()


def cpus() -> dict[str, Any]:
    """Return what the CPUs are and how they are run."""
    governors = sorted(
        set(
            filter(
                None, (read(path) for path in glob.glob(CPU + "/cpufreq/policy*/scaling_governor"))
            )
        )
    )
    cpuinfo = read("/proc/cpuinfo") or ""
    flaws = sorted(glob.glob(CPU + "/vulnerabilities/*"))
    return present(
        [
            ("model", cpu_model(cpuinfo)),
            ("online", read(CPU + "/online")),
            ("isolated", read(CPU + "/isolated")),
            ("smt", read(CPU + "/smt/control")),
            ("governor", ", ".join(governors)),
            ("numa_nodes", read("/sys/devices/system/node/online")),
            (
                "microcode",
                (re.findall(r"^microcode\s*:\s*(\S+)", cpuinfo, re.MULTILINE) or [None])[0],
            ),
            ("mitigations", present((os.path.basename(path), read(path)) for path in flaws)),
        ]
    )


def interrupts(text: str | None, device: str) -> list[int]:
    """Return the numbers of the interrupts whose name in /proc/interrupts carries the device's
    name.
    """
    pattern = re.compile(f"^\\s*(\\d+):.*[\\s@-]{re.escape(device)}(?:[\\s@,-]|$)", re.MULTILINE)
    return [int(number) for number in pattern.findall(text or "")]


def irq_affinity(device: str) -> dict[str, str]:
    """Return ``{interrupt: CPU list}`` of a device's interrupts."""
    return present(
        (str(number), read(f"/proc/irq/{number}/smp_affinity_list"))
        for number in interrupts(read("/proc/interrupts"), device)
    )


def receive_steering(device: str) -> dict[str, str]:
    """Return the device's RPS CPU masks and XPS CPU masks, by queue."""
    base = f"/sys/class/net/{device}/queues"
    paths: list[str] = []
    for kind in ("rps_cpus", "rps_flow_cnt", "xps_cpus"):
        paths += glob.glob(base + "/*/" + kind)
    return present((os.path.relpath(path, base), read(path)) for path in sorted(paths))


def link(device: str) -> dict[str, Any]:
    """Return MTU, speed (Mbit/s), PCI address and NUMA node of a device."""
    base = "/sys/class/net/" + device
    pci = (
        os.path.basename(os.path.realpath(base + "/device"))
        if os.path.exists(base + "/device")
        else None
    )
    # A driver that does not know its speed says -1; a veth says 10000, but has no line that could
    # be full.
    speed = int(read(base + "/speed") or -1) if pci else -1
    return present(
        [
            ("mtu", int(read(base + "/mtu") or 0) or None),
            ("speed_mbps", speed if speed > 0 else None),
            ("pci", pci),
            ("numa_node", read(base + "/device/numa_node")),
            ("tx_queue_len", read(base + "/tx_queue_len")),
            ("steering", receive_steering(device)),
            ("irq_affinity", irq_affinity(device)),
        ]
    )


def first_line(argv: list[str]) -> str | None:
    """Return the first line that a program prints, or None where the program is missing."""
    try:
        result = runner.run(argv, check=False, timeout=10)
    except CommandError:
        return None
    return next(iter((result.out or result.err).strip().splitlines()), None)


def netperf_options() -> str | None:
    """Return the letters of netperf's options as built: optional parts such as -D show up only when
    compiled in.
    """
    try:
        usage = runner.run(["netperf", "-h"], check=False, timeout=10)
    except CommandError:
        return None
    return "".join(re.findall(r"^ {4}-(\w)\b", usage.out + usage.err, re.MULTILINE))


def tools() -> dict[str, str]:
    """Return the versions of the tools."""
    return present(
        [
            ("netperf", first_line(["netperf", "-V"])),
            ("netperf_options", netperf_options()),
            ("ethtool", first_line(["ethtool", "--version"])),
            ("iproute2", first_line(["ip", "-V"])),
        ]
    )


def host() -> dict[str, Any]:
    """Return the conditions of the node as a whole."""
    return present(
        [
            ("boot_id", read("/proc/sys/kernel/random/boot_id")),
            ("kernel", platform.release()),
            ("kernel_build", platform.version()),
            ("architecture", platform.machine()),
            ("command_line", command_line(read("/proc/cmdline"))),
            ("cpus", cpus()),
            ("sysctls", sysctls()),
            (
                "clocksource",
                read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            ),
            (
                "memory_kb",
                (
                    re.findall(r"^MemTotal:\s+(\d+)", read("/proc/meminfo") or "", re.MULTILINE)
                    or [None]
                )[0],
            ),
            ("virtualisation", read("/sys/class/dmi/id/sys_vendor")),
            ("tools", tools()),
        ]
    )


def programs(devices: Iterable[Any]) -> dict[str, Any]:
    """Return the BPF programs of devices that have any, by device and hook."""
    by_device: list[tuple[str, Any]] = []
    for item in devices:
        device = item if isinstance(item, dict) else {"name": str(item)}
        with contextlib.suppress(LabError), netns.inside(device.get("netns")):
            by_device.append((network.key_of(device), bpf.described(device["name"])))
    return present(by_device)
