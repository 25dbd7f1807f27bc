#!/bin/sh
# All of sanity, and the unit tests of the controller, on each ansible-core that is supported: matrix.sh [CORE...]
# Each core runs on the Python that Debian 12 has, or on the oldest that it supports. A core that fails does not keep the
# others from running; what was found is printed at the end, with its time.
set -eu
cd "$(dirname "$0")/.."
results=.build/matrix
mkdir -p "$results"
failed=0
[ $# -gt 0 ] || set -- 2.18 2.19 2.20 2.21

python_of() {
    case $1 in
    2.18 | 2.19) echo 3.11 ;;
    *) echo 3.12 ;;
    esac
}

set_up() { # CORE
    venv=$PWD/.build/matrix/venv-$1
    if ! [ -x "$venv/bin/ansible-test" ]; then
        rm -rf "$venv"
        "$(sh tools/find_python.sh "$(python_of "$1")")" -m venv "$venv"
        # Not pinned but for ansible-core: the newest of each that this core takes.
        "$venv/bin/pip" install --quiet --disable-pip-version-check "ansible-core==$1.*" -r meta/ee-requirements.txt \
            -r tests/unit/requirements.txt prometheus-client pytest-xdist ruptures
        "$venv/bin/python" tools/collections_setup.py requirements/collections.yml
    fi
}

try() { # CORE NAME COMMAND...
    core=$1 name=$2 began=$(date +%s)
    shift 2
    if "$@" >"$results/$core-$name.log" 2>&1; then said=passed; else said=FAILED failed=1; fi
    printf '%-5s %-7s %s  %4d s\n' "$core" "$name" "$said" $(($(date +%s) - began)) | tee -a "$results/summary"
}

: >"$results/summary"
for core in "$@"; do
    try "$core" set-up set_up "$core"
    bin=$PWD/.build/matrix/venv-$core/bin
    try "$core" sanity "$bin/python" tools/run_ansible_test.py sanity --color no
    try "$core" units "$bin/python" -m pytest -q -n 2 -p no:cacheprovider -m "not nightly" --hypothesis-profile=quick tests/unit
done
exit $failed
