#!/bin/sh
# Make the image of the containers, once: image.sh IMAGE. Prints "made" when it was absent.
set -eu
image=$1
suite=bookworm
packages=dbus,ethtool,iproute2,iputils-ping,netperf,openvswitch-switch,procps,python3,systemd,systemd-sysv,tcpdump

if podman image exists "$image"; then
    exit 0
fi
# The packages enable their daemons: starting what the lab needs, and nothing else, is the roles' work.
# shellcheck disable=SC2016 # mmdebstrap's own variable
mmdebstrap --quiet --variant=minbase --components=main,non-free --include="$packages" \
    --customize-hook='chroot "$1" systemctl disable --quiet netperf openvswitch-switch' "$suite" - |
    podman import --quiet - "$image" >/dev/null
echo made
