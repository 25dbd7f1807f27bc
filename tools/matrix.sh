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
        python=$(sh tools/find_python.sh "$(python_of "$1")") && "$python" -m venv "$venv" || return
        # Not pinned but for ansible-core: the newest of each that this core takes.
        "$venv/bin/pip" install --quiet --disable-pip-version-check "ansible-core==$1.*" -r meta/ee-requirements.txt \
            -r tests/unit/requirements.txt prometheus-client pytest-xdist ruptures || return
        "$venv/bin/python" tools/collections_setup.py requirements/collections.yml
    fi
}

note() { # CORE NAME BEGAN STATUS
    said=passed
    if [ "$4" != 0 ]; then said=FAILED failed=1; fi
    printf '%-5s %-7s %s  %4d s\n' "$1" "$2" "$said" $(($(date +%s) - $3)) | tee -a "$results/summary"
}

: >"$results/summary"
for core in "$@"; do
    bin=$PWD/.build/matrix/venv-$core/bin

    began=$(date +%s) status=0
    (set_up "$core") >"$results/$core-set-up.log" 2>&1 || status=$?
    note "$core" set-up "$began" "$status"

    began=$(date +%s) status=0
    "$bin/python" tools/run_ansible_test.py sanity --color no >"$results/$core-sanity.log" 2>&1 || status=$?
    note "$core" sanity "$began" "$status"

    began=$(date +%s) status=0
    "$bin/python" -m pytest -q -n 2 -p no:cacheprovider -m "not nightly" --hypothesis-profile=quick tests/unit \
        >"$results/$core-units.log" 2>&1 || status=$?
    note "$core" units "$began" "$status"
done
exit $failed
