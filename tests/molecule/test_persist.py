# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings survive a restart of a container with systemd: by udev, NetworkManager and ifupdown, and
are taken back. A tunnel that is made again has its settings again.
"""

from __future__ import annotations

import json
import time

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

IMAGE = "localhost/offload-lab-node:bookworm"
NAME = "offload-lab-persist"
DEVICE = "tuned0"
SETTINGS = {
    "generic-receive-offload": True,
    "tx-tcp-segmentation": False,
    "tx-udp_tnl-segmentation": False,
}
BY_DEFAULT = {
    "generic-receive-offload": False,
    "tx-tcp-segmentation": True,
    "tx-udp_tnl-segmentation": True,
}
TUNNEL = "flannel-a.1"  # with a sign that systemd has to escape
TUNNELS = {"tx-tcp-segmentation": False, "rx-udp-gro-forwarding": True}
POD = (("vethpod", None), ("eth0", "pod"))
NETDEV = f"[NetDev]\nName={DEVICE}\nKind=veth\n[Peer]\nName=peer0\n"


class Host:
    """The container, which recreates its device whenever it starts, as a machine does."""

    def __init__(self, variables):
        self.variables = variables

    def podman(self, *argv, rc=0):
        return run(["podman", *argv], rc=rc, **self.variables)

    def inside(self, *argv, rc=0):
        return self.podman("exec", NAME, *argv, rc=rc)

    def write(self, path, text):
        self.inside("python3", "-I", "-c", f"open({path!r}, 'w').write({text!r})")

    def restart(self):
        """Restart it, and wait until it has started and has its device."""
        self.podman("restart", "--time", "5", NAME)
        self.ready()
        assert DEVICE in self.inside("ip", "-o", "link")

    def ready(self):
        """Wait until it has started. Until then there may be no bus."""
        deadline = time.monotonic() + 120
        while self.inside("systemctl", "is-system-running", rc=None).strip() not in (
            "running",
            "degraded",
        ):
            assert time.monotonic() < deadline, self.inside("systemctl", "list-jobs", rc=None)
            time.sleep(0.5)

    def ask(self, **arguments):
        """Run module persist and return its result."""
        output = run(
            [
                "ansible",
                "all",
                "-o",
                "-i",
                f"{NAME},",
                "-c",
                "containers.podman.podman",
                "-e",
                "ansible_python_interpreter=/usr/bin/python3",
                "-m",
                "offload.lab.persist",
                "-a",
                json.dumps(arguments),
            ],
            ANSIBLE_CALLBACK_RESULT_FORMAT="json",
            rc=None,
            **self.variables,
        )
        return json.loads(output[output.index("=> ") + 3 :])

    def features(self, device=DEVICE, names=tuple(SETTINGS)):
        rows = dict(
            line.strip().split(": ")[:2]
            for line in self.inside("ethtool", "-k", device).splitlines()[1:]
        )
        return {name: rows[name].split()[0] == "on" for name in names}

    def becomes(self, expected, seconds=60, device=DEVICE):
        """Wait until the features are as wanted; return what they are."""
        deadline = time.monotonic() + seconds
        while self.features(device, expected) != expected and time.monotonic() < deadline:
            time.sleep(0.5)
        return self.features(device, expected)

    def make_tunnel(self):
        """Make the tunnel as an agent does at each of its starts."""
        kind = ["type", "vxlan", "id", "1", "dev", DEVICE, "dstport", "8472", "nolearning"]
        self.inside("ip", "link", "add", TUNNEL, *kind)

    def make_tunnel_again(self):
        self.inside("ip", "link", "del", TUNNEL)
        self.make_tunnel()


@pytest.fixture(scope="module")
def host(podman_required):
    run(["sh", "molecule/containers/image.sh", IMAGE])
    stock = run(["podman", "run", "--rm", IMAGE, "echo", "it starts"], rc=None)
    conf = str(CHECKOUT / "molecule/containers/containers.conf")
    new_host = Host({} if "it starts" in stock else {"CONTAINERS_CONF": conf})
    new_host.podman("rm", "--force", "--ignore", NAME)
    new_host.podman(
        "run",
        "--detach",
        "--name",
        NAME,
        "--systemd",
        "always",
        "--privileged",
        "--network",
        "none",
        IMAGE,
        "/sbin/init",
    )
    try:
        new_host.ready()
        new_host.write("/etc/systemd/network/10-tuned0.netdev", NETDEV)
        new_host.inside("systemctl", "enable", "systemd-networkd")
        new_host.restart()
        yield new_host
    finally:
        new_host.podman("rm", "--force", NAME)


@pytest.fixture
def untouched(host):
    """The host as it was, before the test and after it."""
    assert host.features() == BY_DEFAULT
    yield
    host.ask(state="absent")
    host.restart()
    assert host.becomes(BY_DEFAULT) == BY_DEFAULT
    assert host.inside("find", "/etc", "/var/lib", "-name", "*offload-lab*") == ""


def apply(host, method):
    """Write the settings by a method, twice; return the first result."""
    options = {"devices": [{"name": DEVICE, "features": SETTINGS}], "method": method}
    done = host.ask(**options)
    assert done["changed"] and not host.ask(**options)["changed"]
    return done


def test_apply_by_a_link_file_and_a_unit(host, untouched):
    done = apply(host, "systemd_link")
    assert done["files"] == [
        f"/etc/systemd/network/00-offload-lab-{DEVICE}.link",
        f"/etc/systemd/system/offload-lab-{DEVICE}.service",
    ]
    assert done["notes"] == [
        f"{DEVICE}: systemd_link cannot express tx-udp_tnl-segmentation; unit "
        f"offload-lab-{DEVICE}.service sets it"
    ]
    host.restart()
    assert host.becomes(SETTINGS) == SETTINGS


def test_a_pod_and_its_port_are_left_out(host, untouched):
    host.inside("ip", "netns", "add", "pod")
    host.inside("ip", "link", "add", "vethpod", "type", "veth", "peer", "eth0", "netns", "pod")
    pod = [{"name": name, "netns": netns, "features": SETTINGS} for name, netns in POD]
    refused = host.ask(devices=pod)
    assert "nothing on this host can keep the settings" in refused["msg"]
    done = host.ask(devices=[*pod, {"name": DEVICE, "features": SETTINGS}])
    assert not any("pod" in path or "eth0" in path for path in done["files"])
    assert done["lasting"].startswith(
        f"Set again after a reboot and when the device is recreated: {DEVICE}"
    )
    host.inside("ip", "netns", "del", "pod")


def test_a_tunnel_that_is_made_again_has_its_settings_again(host, untouched):
    """By the .link file what that can express, by the unit what it cannot."""
    # The first process of a container begins before udev, so it does not hear of devices (of a machine
    # it does: there /dev is a devtmpfs). Run again, it does.
    host.inside("systemctl", "daemon-reexec")
    host.make_tunnel()
    before = host.features(TUNNEL, TUNNELS)
    assert before != TUNNELS
    options = {"devices": [{"name": TUNNEL, "features": TUNNELS}], "method": "systemd_link"}
    assert len(host.ask(**options)["files"]) == 2
    for _time in range(10):
        host.make_tunnel_again()
        assert host.becomes(TUNNELS, seconds=20, device=TUNNEL) == TUNNELS
    host.restart()  # its agent makes the tunnel after the boot
    host.inside("systemctl", "daemon-reexec")
    host.make_tunnel()
    assert host.becomes(TUNNELS, seconds=20, device=TUNNEL) == TUNNELS
    assert host.ask(state="absent")["changed"]
    host.make_tunnel_again()
    time.sleep(3)  # an existing unit would have run
    assert host.features(TUNNEL, TUNNELS) == before
    host.inside("ip", "link", "del", TUNNEL)


@pytest.mark.nightly  # what it calls is tested without it
def test_apply_by_networkmanager(host, untouched):
    host.write(
        "/etc/udev/rules.d/99-managed.rules",
        f'SUBSYSTEM=="net", KERNEL=="{DEVICE}", ENV{{NM_UNMANAGED}}="0"\n',
    )
    host.inside("systemctl", "enable", "--now", "NetworkManager")
    host.restart()
    host.inside(
        "nmcli",
        "connection",
        "add",
        "type",
        "ethernet",
        "ifname",
        DEVICE,
        "con-name",
        DEVICE,
        "ipv4.method",
        "manual",
        "ipv4.addresses",
        "198.18.7.1/24",
        "ipv6.method",
        "disabled",
    )
    host.inside("ip", "link", "set", "peer0", "up")
    host.inside("nmcli", "connection", "up", DEVICE)
    done = apply(host, "auto")
    assert done["methods"] == {DEVICE: "networkmanager"} and done["files"] == []
    host.restart()
    host.inside("ip", "link", "set", "peer0", "up")  # NetworkManager waits for a carrier
    assert host.becomes(SETTINGS) == SETTINGS


@pytest.mark.nightly  # what it calls is tested without it
def test_apply_by_ifupdown(host, untouched):
    host.write(
        "/etc/network/interfaces",
        f"auto {DEVICE}\niface {DEVICE} inet static\n    address 198.18.7.1/24\n",
    )
    host.inside("systemctl", "disable", "--now", "NetworkManager", rc=None)
    done = apply(host, "auto")
    assert done["methods"] == {DEVICE: "ifupdown"}
    host.restart()
    host.inside("ifdown", "--force", DEVICE, rc=None)
    host.inside("ifup", DEVICE)
    assert host.becomes(SETTINGS) == SETTINGS
    host.inside("rm", "/etc/network/interfaces")
