#!/bin/sh
# Say what to type where this is no Linux, before anything is installed.
set -eu
[ "$(uname -s)" != Linux ] || exit 0
cat >&2 <<'END'
The lab needs Linux. In a virtual machine with Ubuntu:

    limactl start --name=offload template://ubuntu-lts        # or: multipass launch 24.04 --name offload
    limactl shell --workdir / offload                         # or: multipass shell offload
    cd && sudo apt-get update && sudo apt-get install -y git make && git clone https://github.com/offload-lab/offload.lab lab && make -C lab demo

docs/laptops.md has WSL2 and a devcontainer, too.
END
exit 1
