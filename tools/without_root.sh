#!/bin/sh
# Run a command that makes a lab and takes it down again: without root in a user namespace of its own where the system allows
# that and has the lab's programs, else as root: without_root.sh COMMAND...
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

say() { echo "Without root it does not run here: $*." >&2; }

is_possible() {
    # A namespace that exists may have no rights: what the lab makes is tried.
    unshare --user --map-root-user --net --mount ip link add type veth 2>/dev/null || {
        say "this system has no user namespaces for users"
        return 1
    }
    [ -w /dev/net/tun ] || { say "/dev/net/tun is not writable"; return 1; }
    for program in ethtool ovs-vsctl ovs-vswitchd ping $([ -n "${OFFLOAD_LAB_ENGINE:-}" ] || echo netperf); do
        command -v "$program" >/dev/null || { say "$program is missing, and only root can install it"; return 1; }
    done
}

if [ "$(id -u)" = 0 ] || ! is_possible; then
    exec sh tools/as_root.sh "$@"
fi
echo "It runs without root, in a user namespace of its own."
# On the last CPU for the reason that isolated.sh has; the command may use all of them.
cpus=$(taskset -cp $$ | sed 's/.*: //')
# shellcheck disable=SC2016 # the shell inside expands it
exec taskset --cpu-list "${cpus##*[,-]}" unshare --user --map-root-user --net --mount --pid --fork --kill-child --mount-proc \
    sh -c 'taskset -cp "$1" $$ >/dev/null; shift; exec sh tools/isolated.sh inside "$@"' sh "$cpus" "$@"
