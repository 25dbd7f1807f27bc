#!/bin/sh
# What the field asks of a collection: "field" is what Galaxy and Ansible's community check, without regard to a version;
# a CORE is all of sanity, and the unit tests of the controller, on that ansible-core: matrix.sh [field|CORE...]
# Each core runs on the Python that Debian 12 has, or on the oldest that it supports. What fails does not keep the others
# from running; what was found is printed at the end, with its time.
set -eu
cd "$(dirname "$0")/.."
results=.build/matrix
mkdir -p "$results"
failed=0

python_of() {
    case $1 in
    2.18 | 2.19) echo 3.11 ;;
    *) echo 3.12 ;;
    esac
}

set_up() { # CORE
    venv=$PWD/.build/matrix/venv-$1
    ! [ -x "$venv/bin/ansible-test" ] || return 0
    rm -rf "$venv"
    lock=requirements/core-$1.txt
    [ "$1" != 2.18 ] || lock=requirements/older-core.txt
    sh tools/setup.sh "$venv" "$(python_of "$1")" "$lock"
    "$venv/bin/python" tools/collections_setup.py requirements/collections.yml
}

step() { # OF NAME COMMAND...
    of=$1 name=$2
    shift 2
    began=$(date +%s) said=passed
    "$@" >"$results/$of-$name.log" 2>&1 || said=FAILED
    [ "$said" = passed ] || failed=1
    printf '%-5s %-13s %s  %5d s\n' "$of" "$name" "$said" $(($(date +%s) - began)) | tee -a "$results/summary"
}

field() {
    bin=$PWD/.venv/bin
    step field antsibull-nox "$bin/nox" --sessions extra-checks license-check build-import-check
    step field ansible-lint env PATH="$bin:$PATH" ANSIBLE_COLLECTIONS_PATH="$PWD/.build/live" \
        ansible-lint --offline --profile production --strict
    step field docs env PATH="$bin:$PATH" ANSIBLE_COLLECTIONS_PATH="$PWD/.build/live" \
        antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs dependent .
}

core() { # CORE
    bin=$PWD/.build/matrix/venv-$1/bin
    step "$1" set-up sh tools/matrix.sh set-up "$1"
    step "$1" sanity "$bin/python" tools/run_ansible_test.py sanity --color no
    step "$1" units "$bin/python" -m pytest -q -n 2 -p no:cacheprovider -m "not nightly" --hypothesis-profile=quick tests/unit
}

if [ "${1:-}" = set-up ]; then # a step of its own, so that whatever fails in it ends it
    set_up "$2"
    exit
fi
[ $# -gt 0 ] || set -- field 2.18 2.19 2.20 2.21
: >"$results/summary"
for asked in "$@"; do
    case $asked in
    field) field ;;
    *) core "$asked" ;;
    esac
done
exit $failed
