#!/bin/sh
# Make the image of two_hosts.py, once: a minimal server that one can log in to. ssh_image.sh NAME:SUITE
# ifupdown is the network configuration of a Debian server; it brings iproute2. Nothing else of what a lab runs is there.
set -eu
packages=apt,dbus,ifupdown,openssh-server,python3,sudo,systemd,systemd-sysv
suite=${1##*:}
case $suite in
jammy | noble) components=main,universe ;;
*) components=main ;;
esac
podman image exists "$1" ||
    mmdebstrap --quiet --variant=minbase --components="$components" --include="$packages" "$suite" - |
    podman import --quiet - "$1" >/dev/null
