#!/bin/sh
# Make the image of tests/installed/test_two_hosts.py, once: a minimal server that one can log in to. ssh_image.sh IMAGE
# ifupdown is the network configuration of a Debian server; it brings iproute2. Nothing else of what a lab runs is there.
set -eu
packages=dbus,ifupdown,openssh-server,python3,sudo,systemd,systemd-sysv
podman image exists "$1" ||
    mmdebstrap --quiet --variant=minbase --include="$packages" bookworm - | podman import --quiet - "$1" >/dev/null
