#!/bin/sh
# What a release is made of, from the last commit: built, checked as Galaxy does, installed into an empty path, tried
# from there, and checksums beside it: release.sh BIN_FOLDER (DEMO=no leaves out the demo, which needs root or sudo)
set -eu
cd "$(dirname "$0")/../.."
bin=$1
PATH=$bin:$PATH
export PATH
checkout=$PWD
made=$PWD/.build/release
rm -rf "$made"
mkdir -p "$made/source" "$made/installed"

step() {
    echo "== $1"
}

step "Build, from the last commit"
[ -z "$(git status --porcelain)" ] || echo "Note: uncommitted changes are not in the release."
git archive HEAD | tar -x -C "$made/source"
(cd "$made/source" && "$bin/ansible-galaxy" collection build --output-path "$made")
tarball=$(ls "$made"/*.tar.gz)

step "The changelog, rendered"
(cd "$made/source" && "$bin/python" tools/release/render_changelog.py "$bin/antsibull-changelog")

step "Import, as Galaxy does"
sh tools/setup.sh .cache/importer best requirements/release.txt
# ansible-lint is left out: it misses the dependencies there, and "make lint" runs it in its strictest profile.
(cd "$made" && GALAXY_IMPORTER_RUN_ANSIBLE_LINT=no PATH="$checkout/.cache/importer/bin:$PATH" env -u ANSIBLE_CONFIG \
    python -m galaxy_importer.main "$tarball") >"$made/import.log" 2>&1 || {
    tail -n 20 "$made/import.log" >&2
    exit 1
}
if grep -E "ERROR|WARNING" "$made/import.log" | cut -c 1-300 | grep .; then
    echo "Galaxy's importer has warnings; its full log: $made/import.log" >&2
    exit 1
fi

step "Install into an empty path"
"$bin/ansible-galaxy" collection install --force --offline --no-deps -p "$made/installed" "$tarball"
installed=$made/installed/ansible_collections/offload/lab

if [ "${DEMO:-yes}" = yes ]; then
    step "A short demo of what was installed"
    printf 'name: release\nseed: 1\nblocks: 1\npaths: [tenant_vxlan]\nworkloads: [tcp_stream]\nduration: 1\n' >"$made/campaign.yml"
    sh tools/as_root.sh env PATH="$bin:$PATH" OFFLOAD_LAB_NAME=release ANSIBLE_CONFIG="$checkout/ansible.cfg" \
        ANSIBLE_COLLECTIONS_PATH="$made/installed" ANSIBLE_INVENTORY="$installed/inventories/single_host" \
        sh "$installed/tools/demo.sh" "$made/results" "$made/campaign.yml"
fi

step "Checksums"
(cd "$made" && sha256sum -- *.tar.gz | tee SHA256SUMS)
echo "Release: $tarball"
