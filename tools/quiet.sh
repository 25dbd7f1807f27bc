# shellcheck shell=sh
# Sourced: the console shows stages, progress and the result; Ansible's full output goes to a log file in $results.
export ANSIBLE_STDOUT_CALLBACK="${ANSIBLE_STDOUT_CALLBACK:-offload.lab.quiet}"
export ANSIBLE_LOG_PATH="${ANSIBLE_LOG_PATH:-$results/ansible.log}"
mkdir -p "$results"

log_named() {
    echo "Ansible's full output: $ANSIBLE_LOG_PATH"
}

# Files that root made there go to the user who called sudo.
given_back() {
    # shellcheck disable=SC2153 # sudo sets both
    [ -z "${SUDO_UID:-}" ] || ! [ -d "$results" ] || chown -R "$SUDO_UID:$SUDO_GID" "$results"
}
