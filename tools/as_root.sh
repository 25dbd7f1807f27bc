#!/bin/sh
# Run a command as root: directly, or through sudo with the variables that our playbooks read.
set -eu
if [ "$(id -u)" = 0 ]; then
    exec "$@"
elif command -v sudo >/dev/null; then
    exec sudo --preserve-env=OFFLOAD_LAB_NODES,NODES_PLAYBOOK,ANSIBLE_INVENTORY,OFFLOAD_LAB_NAME,OFFLOAD_LAB_ENGINE,OFFLOAD_LAB_MTU,OFFLOAD_LAB_NIC,ANSIBLE_FORCE_COLOR,ANSIBLE_STDOUT_CALLBACK,ANSIBLE_LOG_PATH,CI "$@"
fi
echo "This needs root, to make network namespaces: run it as root, or install sudo." >&2
exit 1
