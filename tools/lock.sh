#!/bin/sh
# Pin requirements/*.in again, with the SHA-256 of each file of each package, for all Pythons and systems. What is pinned
# moves to its newest version; with "keep" only what *.in changes: lock.sh [keep]
set -eu
cd "$(dirname "$0")/.."
sh tools/setup.sh .build/lock best requirements/lock.txt
upgrade=--upgrade
[ "${1:-}" != keep ] || upgrade=--no-upgrade

lock() { # PYTHON NAME [OPTION]
    # shellcheck disable=SC2086 # no option means no argument
    .build/lock/bin/uv pip compile --quiet $upgrade --universal --python-version "$1" --generate-hashes --no-header \
        --no-emit-index-url --annotation-style=line ${3:-} --output-file "requirements/$2.txt" "requirements/$2.in"
}

for name in controller test release rulebook ee older-core core-2.19 lock; do
    lock 3.11 $name
done
for name in core-2.20 core-2.21; do
    lock 3.12 $name
done
for name in wheel awx-wheel; do
    lock 3.12 $name --no-deps
done
lock 3.8 node
