#!/bin/sh
# Pin requirements/*.in again, for all Pythons that the controller may run: lock.sh BIN_FOLDER
set -eu
cd "$(dirname "$0")/.."
"$1/pip" install --quiet uv
for name in controller test release rulebook older-core; do
    "$1/uv" pip compile --quiet --upgrade --universal --python-version 3.11 --no-header --no-emit-index-url \
        --annotation-style=line --output-file "requirements/$name.txt" "requirements/$name.in"
done
