# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two containers with systemd as two servers: SSH, sudo with a password, an underlay that ifupdown
brings up.

What the lab installs comes from the distribution's archive by an HTTP proxy on this machine, as in
many server rooms.
"""

from __future__ import annotations

import gzip
import http.server
import json
import lzma
import shutil
import socketserver
import threading
import time
import urllib.error
import urllib.request

import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

PASSWORD = "the password of sudo"
DEVICE = "underlay0"
# The way in is one network a host, the underlay another.
NODES = {
    "node1": {"here": "198.19.215.1", "there": "198.19.215.2", "underlay": "198.18.0.1"},
    "node2": {"here": "198.19.215.5", "there": "198.19.215.6", "underlay": "198.18.0.2"},
}
PROXY_PORT = 38128
LOOK = """
import glob, json, os
names = [open(path).read().strip() for path in glob.glob("/proc/[0-9]*/comm")]
folders = ("/var/lib/offload-lab", "/run/offload-lab", "/run/netns")
print(json.dumps({
    "links": sorted(os.listdir("/sys/class/net")),
    "daemons": sorted(name for name in names if name.startswith(("ovs", "net"))),
    "files": sorted(os.path.join(folder, name) for root in folders for folder, _, names in os.walk(root)
                    for name in names) + glob.glob("/etc/**/*offload-lab*", recursive=True)}))
"""
SOURCE = """\
sed 's/^deb /deb-src /' /etc/apt/sources.list >/etc/apt/sources.list.d/source.list
mkdir /root/source && cd /root/source
apt-get update && apt-get source --download-only "$0"
rm /etc/apt/sources.list.d/source.list
"""


class _Proxy(http.server.BaseHTTPRequestHandler):
    """Fetches what apt asks for."""

    def do_GET(self):  # noqa: N802 # the name that http.server calls
        try:
            with urllib.request.urlopen(self.path, timeout=60) as answer:
                self.send_response(200)
                self.send_header("Content-Length", answer.headers["Content-Length"])
                self.end_headers()
                shutil.copyfileobj(answer, self.wfile)
        except urllib.error.HTTPError as error:
            self.send_error(error.code)

    def log_message(self, format, *args):  # noqa: A002
        """Say nothing."""


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


class TwoHosts:
    """The containers, the links between them, and the proxy."""

    def __init__(self, folder, suite="bookworm"):
        self.folder = folder
        self.image = f"localhost/offload-lab-ssh:{suite}"
        self.proxy = None
        self.variables = {}

    def podman(self, *argv, rc=0):
        return run(["podman", *argv], rc=rc, **self.variables)

    def inside(self, node, *argv, rc=0):
        return self.podman("exec", container(node), *argv, rc=rc)

    def write(self, node, path, text):
        self.inside(node, "python3", "-I", "-c", f"open({path!r}, 'w').write({text!r})")

    def up(self):
        run(["sh", "tests/installed/ssh_image.sh", self.image])
        stock = run(
            ["podman", "run", "--rm", "--network", "none", self.image, "echo", "it starts"], rc=None
        )
        conf = str(CHECKOUT / "molecule/containers/containers.conf")
        self.variables = {} if "it starts" in stock else {"CONTAINERS_CONF": conf}
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "key"])
        for node in NODES:
            self.podman("rm", "--force", "--time", "0", "--ignore", container(node))
            self.podman(
                "run",
                "--detach",
                "--name",
                container(node),
                "--hostname",
                node,
                "--systemd",
                "always",
                "--privileged",
                "--network",
                "none",
                self.image,
                "/sbin/init",
            )
            self._log_in(node)
        self.join()
        for node in NODES:
            self._wait(node)
        self.proxy = _Server(("", PROXY_PORT), _Proxy)
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()

    def _log_in(self, node):
        """Give the host a user, a way in, the address of its underlay, and where packages come
        from.
        """
        links = NODES[node]
        key = (self.folder / "key.pub").read_text()
        self.inside(
            node, "useradd", "--create-home", "--shell", "/bin/bash", "--groups", "sudo", "lab"
        )
        self.inside(
            node,
            "sh",
            "-c",
            f"echo 'lab:{PASSWORD}' | chpasswd && install -d -o lab /home/lab/.ssh",
        )
        self.write(node, "/home/lab/.ssh/authorized_keys", key)
        self.write(
            node,
            "/etc/network/interfaces",
            f"auto lo\niface lo inet loopback\nauto {DEVICE}\niface {DEVICE} inet static\n"
            f"    address {links['underlay']}/24\n    mtu 9000\n",
        )
        self.write(
            node,
            "/etc/apt/apt.conf.d/proxy",
            f'Acquire::http::Proxy "http://{links["here"]}:{PROXY_PORT}";\n',
        )
        node_name = f"ofl-{node}"
        run(
            [
                "ip",
                "link",
                "add",
                node_name,
                "type",
                "veth",
                "peer",
                "mgmt0",
                "netns",
                self._pid(node),
            ]
        )
        run(["ip", "address", "add", f"{links['here']}/30", "dev", node_name])
        run(["ip", "link", "set", node_name, "up"])
        self.inside(node, "ip", "address", "add", f"{links['there']}/30", "dev", "mgmt0")
        self.inside(node, "ip", "link", "set", "mgmt0", "up")

    def _pid(self, node):
        return self.podman("inspect", "--format", "{{.State.Pid}}", container(node)).strip()

    def join(self):
        """Recreate the underlay, as a reboot of the machines does, and restart their network."""
        self.inside("node1", "ip", "link", "delete", DEVICE, rc=None)
        run(
            [
                "ip",
                "link",
                "add",
                DEVICE,
                "netns",
                self._pid("node1"),
                "type",
                "veth",
                "peer",
                DEVICE,
                "netns",
                self._pid("node2"),
            ]
        )
        for node in NODES:
            self.inside(node, "systemctl", "restart", "networking")

    def _wait(self, node):
        deadline = time.monotonic() + 120
        while (
            "active"
            not in self.inside(node, "systemctl", "is-active", "ssh", "ssh.socket", rc=None).split()
        ):
            assert time.monotonic() < deadline, self.inside(node, "systemctl", "list-jobs", rc=None)
            time.sleep(0.5)

    def inventory(self):
        """Return what a user writes into the copy of the collection's inventory."""
        hosts = {
            node: {
                "ansible_host": links["there"],
                "offload_lab_underlay_device": DEVICE,
                "offload_lab_underlay_address": links["underlay"],
            }
            for node, links in NODES.items()
        }
        options = (
            f"-o StrictHostKeyChecking=accept-new -o UserKnownHostsFile={self.folder}/known_hosts"
        )
        return {
            "lab_nodes": {
                "hosts": hosts,
                "vars": {
                    "ansible_user": "lab",
                    "ansible_become": True,
                    "ansible_ssh_common_args": options,
                    "ansible_ssh_private_key_file": str(self.folder / "key"),
                },
            }
        }

    def furnish(self, folder, collections, campaign):
        """Write into the user's folder what README asks for: the inventory, the campaign, the
        password of sudo.
        """
        shutil.copytree(
            collections / "ansible_collections/offload/lab/inventories/two_hosts",
            folder / "my_hosts",
        )
        (folder / "my_hosts/hosts.yml").write_text(yaml.safe_dump(self.inventory()))
        (folder / "my_campaign.yml").write_text(campaign)
        (folder / "password").write_text(PASSWORD)

    def features(self, node):
        """Return ``{feature: on}`` of the underlay's device."""
        rows = self.inside(node, "ethtool", "-k", DEVICE).splitlines()[1:]
        return {
            name.strip(): state.split()[0] == "on"
            for name, _colon, state in (row.partition(":") for row in rows)
        }

    def left(self, node):
        """Return what a lab might have left on a host: namespaces, devices, processes, files."""
        return json.loads(self.inside(node, "python3", "-I", "-c", LOOK))

    def source_of(self, package, folder):
        """Return the path of the source archive of a package of the hosts' distribution, as
        upstream packs it.
        """
        self.inside("node1", "sh", "-c", SOURCE, package)
        self.podman("cp", f"{container('node1')}:/root/source", str(folder / "source"))
        [packed] = (folder / "source").glob("*.orig.tar.xz")
        archive = folder / f"{package}.tar.gz"  # what unpacks xz is not on every host
        archive.write_bytes(gzip.compress(lzma.decompress(packed.read_bytes())))
        return archive

    def down(self):
        if self.proxy:
            self.proxy.shutdown()
            self.proxy.server_close()
        for node in NODES:
            self.podman("rm", "--force", "--time", "0", "--ignore", container(node))
            run(["ip", "link", "delete", f"ofl-{node}"], rc=None)


def container(node):
    return f"offload-lab-ssh-{node}"
