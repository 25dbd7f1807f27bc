#!/bin/sh
# Install what a Debian or Ubuntu lacks, as root or with sudo, no daemon is started: packages.sh setup|test|machines.
# It says first what is missing and why. Where it cannot install, it says so and goes on: what needs it says so too.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

missing="" # names of packages; "A|B" is the first that there is a package of
need() { # PROGRAM_OR_FILE PACKAGE WHY
    [ -e "$1" ] || command -v "$1" >/dev/null || add "$2" "$3"
}
add() {
    missing="$missing $1"
    echo "setup: ${1%%|*} is missing: $2"
}

sh tools/find_python.sh >/dev/null 2>&1 ||
    add "python3.14-venv|python3.13-venv|python3.12-venv|python3.11-venv|python3-venv" "Ansible runs in a virtual environment"
need git git "tools ask git which files belong to the project"
if [ "$1" = test ]; then
    need /usr/bin/python3 python3 "the nodes of a lab run it"
    need ip iproute2 "labs, and the isolation of integration tests"
    need ping iputils-ping "tests check whether tenants can be reached"
    need nft nftables "the lab can open a firewall"
    need iperf3 iperf3 "an engine of load beside netperf"
    need tcpdump tcpdump "tests capture packets"
    need /usr/sbin/sshd openssh-server "nightly tests reach the nodes of a lab by SSH"
    need ssh-keygen openssh-client "nightly tests reach the nodes of a lab by SSH"
    need sudo sudo "nightly tests reach the nodes of a lab as a user with sudo"
    need podman podman "Molecule's containers"
    need runc runc "a runtime that podman can use on hosts with old cgroups too"
    need mmdebstrap mmdebstrap "the image of the containers is built, not downloaded"
    need chromium "chromium|chromium-browser" "tests open the report in a browser"
    for version in 3.8 3.11 3.13; do
        sh tools/find_python.sh "$version" >/dev/null 2>&1 && continue
        # Where packages were installed before, apt knows what there is.
        if [ -n "$missing" ] || [ -n "$(apt-cache show --no-all-versions "python$version-venv" 2>/dev/null)" ]; then
            add "python$version-venv|none" "tests/older_core needs it; installed if there is a package"
        else
            echo "setup: Python $version is missing, and there is no package of it; tests/older_core needs it." \
                "pyenv can install it."
        fi
    done
fi
if [ "$1" = machines ]; then
    need qemu-system-x86_64 qemu-system-x86 "it runs the virtual machines"
    need mmdebstrap mmdebstrap "their image is built, not downloaded"
    need /usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring "the image is a Debian"
    need mkfs.ext4 e2fsprogs "their disks are file systems of the image"
    need ip iproute2 "their network"
    need ssh openssh-client "they are reached by SSH"
fi
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup: there is no apt-get here. Install them with this system's package manager." >&2
elif [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    echo "setup: they are not installed: this needs root, or sudo." >&2
else
    # shellcheck disable=SC2086 # one word for each package
    sh tools/as_root.sh sh tools/apt_install.sh $missing
fi
