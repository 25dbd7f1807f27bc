#!/bin/sh
# All files of a release, from the last commit: the collection, checked as Galaxy does and tried, the definition of the
# execution environment, the site, and an example report: release.sh BIN_FOLDER. DEMO=no leaves out the demo; CHECKS=no leaves
# out "make matrix": antsibull-nox, ansible-lint, sanity and unit tests on all ansible-cores, an hour.
set -eu
cd "$(dirname "$0")/../.."
bin=$1
PATH=$bin:$PATH
export PATH
checkout=$PWD
made=$PWD/.build/release
rm -rf "$made"
mkdir -p "$made/source" "$made/installed" "$made/example"

step() {
    echo "== $1"
}

step "The changelog, rendered, and the collection, from the last commit"
[ -z "$(git status --porcelain)" ] || echo "Note: uncommitted changes are not in the release."
git archive HEAD | tar -x -C "$made/source"
cp -r "$made/source" "$made/rendered"
(cd "$made/rendered" && "$bin/python" "$checkout/tools/release/render_changelog.py" "$bin/antsibull-changelog" "$(date +%F)")
cp "$made/rendered/CHANGELOG.md" "$made/source/CHANGELOG.md"
cp "$made/rendered/changelogs/changelog.yaml" "$made/source/changelogs/changelog.yaml"
rm -rf "$made/rendered" "$made/source/changelogs/fragments"
(cd "$made/source" && "$bin/ansible-galaxy" collection build --output-path "$made")
cp "$made/source/CHANGELOG.md" "$made/source/changelogs/changelog.yaml" "$made/"
tarball=$(ls "$made"/*.tar.gz)
name=${tarball##*/}
version=${name#offload-lab-}
version=${version%.tar.gz}

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

step "The definition of the execution environment"
"$bin/ansible-builder" create -f awx/execution-environment.yml -c "$made/execution-environment" >"$made/builder.log" 2>&1 || {
    cat "$made/builder.log" >&2
    exit 1
}
tar -czf "$made/execution-environment-$version.tar.gz" -C "$made" execution-environment

step "The site"
make -s docs
tar -czf "$made/site-$version.tar.gz" -C .build/docs html

step "An example report, of a recorded demo"
tar -xJf tests/unit/recorded/whole/results.tar.xz -C "$made/example"
PYTHONPATH=.build/live "$bin/python" tools/release/example_report.py "$made/example" "$made/example-report-$version.html"

if [ "${CHECKS:-yes}" = yes ]; then
    step "What Galaxy and the community check, and sanity on all ansible-cores (an hour)"
    sh tools/matrix.sh
fi

step "Checksums"
(cd "$made" && sha256sum -- *"$version"* | tee SHA256SUMS)
cat <<END

Release $version is in $made. Nothing is published. A person with the keys types:

    git tag -s v$version -m "offload.lab $version" && git push origin v$version
    ansible-galaxy collection publish $tarball
    gh release create v$version --verify-tag --notes-file $made/CHANGELOG.md $made/*$version* $made/SHA256SUMS
END
