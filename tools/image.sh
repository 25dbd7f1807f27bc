#!/bin/sh
# Build the image of awx/execution-environment.yml with the collection of this checkout, and with others as set-up has
# installed them, without Galaxy and git: image.sh BIN_FOLDER. Variables: those of "make image"; OPTIONS of the engine.
set -eu
cd "$(dirname "$0")/.."
bin=$1
: "${IMAGE:=localhost/offload-lab-ee}" "${BUILDER:=podman}" "${PYTHON:=/usr/bin/python3}" "${PKGMGR:=/usr/bin/dnf}"
: "${BASE:=$(sed -n 's/^ *name: \(.*@sha256:.*\)/\1/p' awx/execution-environment.yml)}"
case $BASE in
*@sha256:* | localhost/*) ;;
*) echo "image: BASE is $BASE. Give it by its digest, NAME@sha256:..., or as localhost/NAME." >&2 && exit 1 ;;
esac
made=.build/image
rm -rf "$made"
mkdir -p "$made/collections/ansible_collections" "$made/tarball"

"$bin/ansible-galaxy" collection build --output-path "$made/tarball" . >/dev/null
"$bin/ansible-galaxy" collection install --force --offline --no-deps -p "$made/collections" "$made"/tarball/*.tar.gz >/dev/null
site=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/ansible_collections
for name in community/general community/library_inventory_filtering_v1 ansible/utils; do
    mkdir -p "$made/collections/ansible_collections/${name%/*}"
    cp -r "$site/$name" "$made/collections/ansible_collections/${name%/*}"
done
# shellcheck disable=SC2086 # OPTIONS are words
printf 'FROM %s\nCOPY . /usr/share/ansible/collections\n' "$BASE" |
    "$BUILDER" build ${OPTIONS:-} --file - --tag "$IMAGE-base" "$made/collections"

"$bin/ansible-builder" create -f awx/execution-environment.yml -c "$made/context"
# The base has them: "ansible-galaxy collection install --offline" says whether they are what is required.
printf 'collections: [offload.lab, community.general, ansible.utils]\n' >"$made/context/_build/requirements.yml"
# shellcheck disable=SC2086
"$BUILDER" build ${OPTIONS:-} --build-arg EE_BASE_IMAGE="$IMAGE-base" --build-arg PYCMD="$PYTHON" --build-arg PKGMGR="$PKGMGR" \
    --build-arg PKGMGR_PRESERVE_CACHE=yes --build-arg ANSIBLE_GALAXY_CLI_COLLECTION_OPTS=--offline --tag "$IMAGE" "$made/context"
