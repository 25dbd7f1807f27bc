#!/bin/sh
# Make an image of iperf3 and the libraries that it needs, from the packages of a release of Debian, once:
# iperf3_image.sh NAME:SUITE. Nothing else is in it, no shell either.
set -eu
podman image exists "$1" ||
    mmdebstrap --quiet --variant=extract --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include=iperf3 "${1##*:}" - |
    podman import --quiet - "$1" >/dev/null
