#!/bin/sh
# Install Debian packages as root, and let none start a daemon: apt_install.sh PACKAGE[|OTHER...]...
# Of "A|B" the first that the sources have is installed; of "A|none" nothing where they have no A.
set -eu
policy=/usr/sbin/policy-rc.d
if ! [ -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
quietly() { "$@" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; exit 1; }; }
quietly apt-get update

chosen=""
for choice in "$@"; do
    for package in $(echo "$choice" | tr '|' ' '); do
        [ "$package" != none ] || break
        if [ -n "$(apt-cache show --no-all-versions "$package" 2>/dev/null)" ]; then
            chosen="$chosen $package"
            break
        fi
    done
done
if [ -n "$chosen" ]; then
    echo "setup: apt-get install$chosen"
    # shellcheck disable=SC2086 # one word for each package
    quietly apt-get install -y --no-install-recommends $chosen
fi
rm -f "$log"
