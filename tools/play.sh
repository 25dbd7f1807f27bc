#!/bin/sh
# Playbooks of a checkout, one after the other, as a person reads them: play.sh RESULTS_FOLDER PLAYBOOK_OR_OPTION...
set -eu
cd "$(dirname "$0")/.."
results=$1
shift
. tools/quiet.sh
status=0
ansible-playbook "$@" ${OFFLOAD_LAB_ENGINE:+-e "offload_lab_engine=$OFFLOAD_LAB_ENGINE"} || status=$?
given_back
log_named
exit "$status"
