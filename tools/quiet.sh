# shellcheck shell=sh
# Sourced: a person reads stages, progress and the result; Ansible's own output is in a log file in the folder $results.
export ANSIBLE_STDOUT_CALLBACK="${ANSIBLE_STDOUT_CALLBACK:-offload.lab.quiet}"
export ANSIBLE_LOG_PATH="${ANSIBLE_LOG_PATH:-$results/ansible.log}"
mkdir -p "$results"

log_named() {
    echo "All that Ansible said: $ANSIBLE_LOG_PATH"
}

# What root made there belongs to the user of sudo.
given_back() {
    # shellcheck disable=SC2153 # sudo sets both
    [ -z "${SUDO_UID:-}" ] || ! [ -d "$results" ] || chown -R "$SUDO_UID:$SUDO_GID" "$results"
}
