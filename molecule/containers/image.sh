#!/bin/sh
# Make the image of the containers and of tests/molecule/test_persist.py, once: image.sh IMAGE. Prints "made" when it was
# absent. A host with all three kinds of network configuration, none of them running.
set -eu
image=$1
suite=bookworm
packages=dbus,ethtool,ifupdown,iproute2,iputils-ping,kmod,netperf,network-manager,openvswitch-switch,procps,python3
packages=$packages,systemd,systemd-sysv,tcpdump,udev

exec 9<"$0" # two tests may ask for it simultaneously
flock 9
if podman image exists "$image"; then
    exit 0
fi
# The packages enable their daemons: starting what the lab needs, and nothing else, is the roles' work.
# shellcheck disable=SC2016 # mmdebstrap's own variable
mmdebstrap --quiet --variant=minbase --components=main,non-free --include="$packages" \
    --customize-hook='chroot "$1" systemctl disable --quiet netperf openvswitch-switch NetworkManager networking' \
    "$suite" - |
    podman import --quiet - "$image" >/dev/null
echo made
