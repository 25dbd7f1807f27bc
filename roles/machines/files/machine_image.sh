#!/bin/sh
# Make what a machine of inventories/virtual_machines boots from, once: machine_image.sh SUITE FOLDER [KERNEL_PACKAGE] (root)
# A Debian with its own kernel, or that of a package such as linux-image-6.1.0-56-amd64, and what a lab runs, as root.ext4, vmlinuz and initrd.img in FOLDER. Nobody can log in yet.
set -eu
suite=$1 folder=$2 kernel=${3:-linux-image-amd64}
packages=ethtool,iperf3,iproute2,iputils-ping,kmod,netperf,openssh-server,openvswitch-switch,procps,python3,systemd-sysv,udev
packages=$packages,$kernel

work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
# The initramfs needs the disk and no more: it is unpacked by a slow CPU.
# shellcheck disable=SC2016 # mmdebstrap's shell has the $1
mmdebstrap --quiet --variant=minbase --components=main,non-free --include="$packages" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"' \
    --essential-hook='echo MODULES=list >"$1/etc/initramfs-tools/conf.d/offload-lab"' \
    --essential-hook='printf "%s\n" virtio_pci virtio_blk ext4 >"$1/usr/share/initramfs-tools/modules.d/offload-lab"' \
    "$suite" "$root"
# The lab starts its own netserver, and housekeeping would be measured too. Host keys are of a machine, not of an image.
systemctl --quiet --root "$root" mask netperf.service e2scrub_reap.service apt-daily.timer apt-daily-upgrade.timer \
    dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
systemctl --quiet --root "$root" enable systemd-networkd.service
# A CPU that is emulated on a busy machine needs minutes for what systemd allows seconds for.
mkdir -p "$root/etc/systemd/system.conf.d"
printf '[Manager]\nDefaultTimeoutStartSec=20min\nDefaultTimeoutStopSec=5min\n' >"$root/etc/systemd/system.conf.d/offload-lab.conf"
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/machine-id" "$root/etc/hostname"
echo uninitialized >"$root/etc/machine-id"
cp "$root"/boot/vmlinuz-* "$work/vmlinuz"
cp "$root"/boot/initrd.img-* "$work/initrd.img"
mkfs.ext4 -q -F -d "$root" "$work/root.ext4" 2G
rm -rf "$root"
chmod 755 "$work"
mv -T "$work" "$folder"
