#!/bin/sh
# From nothing to a report on this machine, and back: demo.sh RESULTS_FOLDER CAMPAIGN_FILE [FILE_WITH_VARIABLES_OF_THE_LAB]
# (root; OFFLOAD_LAB_NAME names the lab, OFFLOAD_LAB_ENGINE the engine of its load, NODES_PLAYBOOK what makes its nodes: nodes, or machines with an ANSIBLE_INVENTORY of
# virtual machines, MEASURE_PLAYBOOK what measures: measure, or integrity to find a cure, too). The lab is taken down at the
# end, also after a failure or Ctrl-C. Results of an earlier demo are moved aside.
set -eu
cd "$(dirname "$0")/.."
results=$1 campaign=$2 variables=${3:-}
lab=${OFFLOAD_LAB_NAME:?}
nodes=${NODES_PLAYBOOK:-nodes}
measure=${MEASURE_PLAYBOOK:-measure}
found=$results/$(sed -n 's/^name:[[:space:]]*//p' "$campaign")

play() {
    echo "== $1"
    shift
    ansible-playbook "$@" -e offload_lab_results_dir="$results" -e offload_lab_campaign_file="$campaign" \
        ${variables:+-e "@$variables"} ${OFFLOAD_LAB_ENGINE:+-e "offload_lab_engine=$OFFLOAD_LAB_ENGINE"}
}

take_down() {
    status=$?
    trap '' INT TERM # a second Ctrl-C must not leave half a lab
    trap - EXIT
    if ! { play "Teardown" playbooks/teardown.yml && play "Nodes removed" "playbooks/${nodes}_absent.yml"; } >"$log" 2>&1; then
        cat "$log" >&2
        echo "The lab could not be taken down; try: make teardown NAME=$lab" >&2
        [ "$status" != 0 ] || status=1
    fi
    rm -f "$log"
    given_back
    if [ "$status" = 0 ]; then summary; else log_named >&2; fi
    exit "$status"
}

summary() {
    echo
    cat "$found/report.txt"
    echo
    log_named
    echo "Report: $found/report.html"
}

# A mistake in the campaign file is reported before anything is made. The plan may differ from an earlier demo's.
log=$(mktemp)
if ! ansible localhost --check -m offload.lab.plan -e offload_lab_campaign_file="$campaign" \
    -a '{"campaign_file": "{{ offload_lab_campaign_file }}", "results_dir": "/nonexistent"}' >"$log" 2>&1; then
    # ansible-core 2.18 has another form: then all of it is shown.
    sed -n 's/^\[ERROR\]: //p' "$log" | grep . >&2 || cat "$log" >&2
    rm -f "$log"
    exit 1
fi

if [ -d "$found" ]; then
    aside=$found-$(date -r "$found" +%Y%m%dT%H%M%S)
    mv "$found" "$aside"
    echo "The results of an earlier demo are now in $aside"
fi

. tools/quiet.sh
trap take_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
play "Nodes" "playbooks/$nodes.yml"
play "Lab" playbooks/lab.yml
play "Campaign" "playbooks/$measure.yml"
# Its text is the result, which comes last, when the lab is gone.
if ! play "Report" playbooks/report.yml >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
