#!/bin/sh
# Run a command where nothing of it reaches the machine: isolated.sh COMMAND (root). It gets network devices, mounts, /run,
# /var/lib/offload-lab and processes of its own; what it leaves there is printed at its end, and makes it fail.
set -eu
# The kernel refuses to keep a mount namespace whose number is not above that of the one it is kept in (no loops), and each
# CPU hands out numbers of its own: on one CPU they only grow, and nodes can be made in here.
[ "${1:-}" = inside ] || exec taskset --cpu-list "$(taskset -cp $$ | sed 's/.*[ ,-]//')" unshare --net --mount --pid --fork --kill-child --mount-proc sh "$0" inside "$@"
shift

traces() { # some kernels give every network namespace devices, such as sit0: what was there before is not left behind
    ip netns
    ip -o link show | cut -d: -f2
    find /run/offload-lab /run/openvswitch /var/lib/offload-lab -type f 2>/dev/null || true
}

ip link set lo up
mount -t sysfs sysfs /sys # that of its own network devices
mount -t tmpfs tmpfs /run
mkdir /run/lock /run/lib
# A lab mounts on /var/lib/offload-lab, and the last lab that goes removes it, and with it the mounts of all labs on it. Labs
# in here and labs of the machine do not know each other, so this folder is not shared; the others of /var/lib are.
mount --rbind /var/lib /run/lib
mount -t tmpfs -o mode=0755 tmpfs /var/lib
for entry in /run/lib/*; do
    inside=/var/lib/${entry##*/}
    if [ -h "$entry" ]; then cp -P "$entry" "$inside"; continue; fi
    [ "$inside" != /var/lib/offload-lab ] || continue
    if [ -d "$entry" ]; then mkdir "$inside"; else touch "$inside"; fi
    mount --rbind "$entry" "$inside"
done
umount -l /run/lib
before=$(traces)
status=0
"$@" || status=$?
after=$(traces)
if [ "$before" != "$after" ]; then
    printf 'Left behind (what was there before, then what is there now):\n\n%s\n\n%s\n' "$before" "$after" >&2
    [ "$status" != 0 ] || status=1
fi
exit "$status"
