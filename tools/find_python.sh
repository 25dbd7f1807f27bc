#!/bin/sh
# Print the path of the best Python that the controller can use: "find_python.sh", or of one version: "find_python.sh 3.8".
# pyenv's shims fail for versions that are not its default, and Debian's python3 may lack venv: only what runs counts.
set -eu

real_path() { # of a Python that runs, has this version, and can make virtual environments
    [ -x "$1" ] && "$1" -c 'import ensurepip, ssl, sys, venv
print(sys.executable)
sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])' "$2" 2>/dev/null
}

versions=${1:-3.14 3.13 3.12 3.11}
for version in $versions; do
    for python in "$(command -v "python$version" || true)" \
        "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python "/usr/bin/python$version"; do
        if found=$(real_path "$python" "$version"); then
            echo "$found"
            exit 0
        fi
    done
done
echo "No usable Python found; looked for: $versions (on PATH, in pyenv, in /usr/bin)." \
    "Install one with its venv module, on Debian: apt-get install python3 python3-venv" >&2
exit 1
