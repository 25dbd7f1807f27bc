#!/bin/sh
# Run pytest as root where that can be had, for tests make devices and containers: test.sh BIN PYTEST_ARGUMENT...
# What the nodes of a lab run is installed first. Without root and sudo, tests that need root are skipped and say so.
set -eu
cd "$(dirname "$0")/.."
bin=$1

if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null; then
    exec sh tools/as_root.sh env PYENV_ROOT="${PYENV_ROOT:-$HOME/.pyenv}" PATH="$bin:$PATH" sh "$0" "$@"
fi
shift
status=0
# Where nothing compiled is kept, each of some hundred starts of Ansible compiles it all again.
unset PYTHONDONTWRITEBYTECODE
if [ "$(id -u)" = 0 ]; then
    log=$("$bin/ansible" localhost -m ansible.builtin.include_role -a "name=offload.lab.common tasks_from=packages" 2>&1) || {
        echo "$log" >&2
        exit 1
    }
fi
"$bin/pytest" "$@" || status=$?
# shellcheck disable=SC2153 # sudo sets both
if [ -n "${SUDO_UID:-}" ]; then # what root made here is the user's
    chown -R "$SUDO_UID:$SUDO_GID" .build .cache plugins tests
fi
exit "$status"
