#!/bin/sh
# Make a virtual environment, and install lock files into it: setup.sh VENV PYTHON_VERSION|best REQUIREMENTS_FILE...
# A warm run starts one Python and compares checksums.
set -eu
cd "$(dirname "$0")/.."
venv=$1 version=$2
shift 2

if ! [ -x "$venv/bin/pip" ]; then
    [ "$version" = best ] && version=
    # shellcheck disable=SC2086 # no version means no argument
    python=$(sh tools/find_python.sh $version)
    echo "setup: $venv with $python"
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi
exec "$venv/bin/python" tools/requirements.py "$@"
