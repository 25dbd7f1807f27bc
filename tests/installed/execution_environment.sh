#!/bin/sh
# Build the image of awx/execution-environment.yml without Galaxy and without a registry, from what ansible-builder made
# of it: execution_environment.sh CONTEXT COLLECTIONS IMAGE
# CONTEXT is the folder of ansible-builder. COLLECTIONS is a folder with ansible_collections; as on a site without Galaxy
# the base image has them, and "ansible-galaxy collection install --offline" says whether they are what is required.
set -eu
context=$1 collections=$2 image=$3
base=$image-base python=/opt/python/bin

# Debian keeps the system's Python from having pip by ensurepip, which the Containerfile wants: one of its own.
podman image exists "$base:trixie" ||
    mmdebstrap --quiet --variant=minbase --skip=cleanup/apt --include=ca-certificates,python3,python3-venv \
        --customize-hook="chroot \"\$1\" python3 -m venv ${python%/bin}" trixie - |
    podman import --quiet --change "ENV PATH=$python:/usr/sbin:/usr/bin:/sbin:/bin" - "$base:trixie" >/dev/null
printf 'FROM %s\nCOPY . /usr/share/ansible/collections\n' "$base:trixie" |
    podman build --quiet --file - --tag "$base:collections" "$collections" >/dev/null
podman build --isolation chroot --network host --volume /etc/ssl/certs:/etc/ssl/certs:ro --tag "$image" \
    --build-arg EE_BASE_IMAGE="$base:collections" --build-arg PYCMD="$python/python3" \
    --build-arg PKGMGR=/usr/bin/apt-get --build-arg PKGMGR_PRESERVE_CACHE=yes \
    --build-arg ANSIBLE_GALAXY_CLI_COLLECTION_OPTS=--offline "$context"
podman image prune --force >/dev/null
