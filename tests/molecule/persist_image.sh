#!/bin/sh
# Make the image of test_persist.py, once: a host with all three kinds of network configuration. persist_image.sh IMAGE
set -eu
packages=dbus,ethtool,ifupdown,iproute2,kmod,network-manager,procps,python3,systemd,systemd-sysv,udev
podman image exists "$1" ||
    mmdebstrap --quiet --variant=minbase --include="$packages" bookworm - | podman import --quiet - "$1" >/dev/null
