#!/bin/sh
# From nothing to a report on this machine, and back: demo.sh RESULTS_FOLDER (root; OFFLOAD_LAB_NAME names the lab).
# The lab is taken down at the end, also after a failure or Ctrl-C. Results of an earlier demo are moved aside.
set -eu
cd "$(dirname "$0")/.."
results=$1
name=${OFFLOAD_LAB_NAME:?}
campaign=${OFFLOAD_LAB_DEMO_CAMPAIGN:-$PWD/playbooks/campaigns/demo.yml}

play() {
    echo "== $1"
    shift
    ansible-playbook "$@" -e offload_lab_results_dir="$results" -e offload_lab_campaign_file="$campaign"
}

take_down() {
    status=$?
    trap '' INT TERM # a second Ctrl-C must not leave half a lab
    trap - EXIT
    if ! { play "Teardown" playbooks/teardown.yml && play "Nodes removed" playbooks/nodes_absent.yml; } >"$log" 2>&1; then
        cat "$log" >&2
        echo "The lab could not be taken down; try: make teardown NAME=$name" >&2
        [ "$status" != 0 ] || status=1
    fi
    rm -f "$log"
    # shellcheck disable=SC2153 # sudo sets both
    [ -z "${SUDO_UID:-}" ] || ! [ -d "$results" ] || chown -R "$SUDO_UID:$SUDO_GID" "$results"
    [ "$status" != 0 ] || summary
    exit "$status"
}

summary() {
    echo
    sed -n '/^|/p' "$results/demo/report.md"
    echo
    echo "Report: $results/demo/report.html"
}

if [ -d "$results/demo" ]; then
    aside=$results/demo-$(date -r "$results/demo" +%Y%m%dT%H%M%S)
    mv "$results/demo" "$aside"
    echo "The results of an earlier demo are now in $aside"
fi

log=$(mktemp)
trap take_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
play "Nodes" playbooks/nodes.yml
play "Lab" playbooks/lab.yml
play "Campaign" playbooks/measure.yml
play "Report" playbooks/report.yml
