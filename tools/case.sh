#!/bin/sh
# A known case on this machine, from nothing to its verdict and back: case.sh CASE RESULTS_FOLDER (root; OFFLOAD_LAB_NAME
# names the lab). A lying network card does what was reported; docs/known-cases.md has the cases.
set -eu
cd "$(dirname "$0")/.."
case=$1 results=$2
OFFLOAD_LAB_NIC=$(PYTHONPATH=.build/live python tools/case.py "$case" "$results/cases")
export OFFLOAD_LAB_NIC NODES_PLAYBOOK=case MEASURE_PLAYBOOK=integrity
echo "== $case: the network card of node1 does $OFFLOAD_LAB_NIC"
sh tools/demo.sh "$results" "$results/cases/$case.yml" "$results/cases/$case-lab.yml"
PYTHONPATH=.build/live python tools/case.py "$case" "$results" cure
