#!/bin/sh
# Build the image of awx/execution-environment.yml as "make image" does, on a Debian made by mmdebstrap, since no registry
# is reached: execution_environment.sh BIN_FOLDER IMAGE
set -eu
image=$2 base=$2-debian:trixie

# Debian keeps the system's Python from having pip by ensurepip, which the Containerfile wants: one of its own.
# shellcheck disable=SC2016 # mmdebstrap's shell has the argument
podman image exists "$base" ||
    mmdebstrap --quiet --variant=minbase --skip=cleanup/apt --include=ca-certificates,python3,python3-venv \
        --customize-hook='chroot "$1" python3 -m venv /opt/python' trixie - |
    podman import --quiet --change "ENV PATH=/opt/python/bin:/usr/sbin:/usr/bin:/sbin:/bin" - "$base" >/dev/null
BASE=$base IMAGE=$image PYTHON=/opt/python/bin/python3 PKGMGR=/usr/bin/apt-get \
    OPTIONS="--isolation chroot --network host --volume /etc/ssl/certs:/etc/ssl/certs:ro" \
    sh "$(dirname "$0")/../../tools/image.sh" "$1"
podman image prune --force >/dev/null
