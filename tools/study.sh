#!/bin/sh
# One of the studies on this machine, from nothing to its report and back: study.sh STUDY RESULTS_FOLDER
# (root; OFFLOAD_LAB_NAME names the lab; SHORT=1 is the short form). The logs that a study printed are imported beside
# ours where the folder of the studies is there: OFFLOAD_LAB_STUDIES, by default shared/studies beside the checkout.
set -eu
cd "$(dirname "$0")/.."
study=$1 results=$2
studies=$PWD/playbooks/studies
campaign=$PWD/playbooks/campaigns/$study.yml
[ -z "${SHORT:-}" ] || campaign=$studies/short/$study.yml
if ! [ -f "$studies/labs/$study.yml" ]; then
    echo "No study '$study'. Give STUDY= one of: $(cd "$studies/labs" && echo -- *.yml | sed 's/^-- //; s/\.yml//g')" >&2
    exit 2
fi

case $study in
hardware_offloads | ovs_vxlan_offload) export OFFLOAD_LAB_UPLINK=yes ;;
userspace_tso) export OFFLOAD_LAB_UPLINK=yes OFFLOAD_LAB_MTU=1500 ;;
one_core | big_tcp | xdp_on_veth) export OFFLOAD_LAB_MTU=1500 ;;
tso_ports) export OFFLOAD_LAB_PORTS=4 OFFLOAD_LAB_MTU=1500 ;;
udp_gro) export OFFLOAD_LAB_FORWARDER=bridged OFFLOAD_LAB_MTU=1500 ;;
udp_forwarding) export OFFLOAD_LAB_FORWARDER=routed OFFLOAD_LAB_MTU=1500 ;;
esac

if [ -f "$studies/imports/$study.yml" ]; then
    number=004
    [ "$study" != ovs_vxlan_offload ] || number=003
    text=$(find "${OFFLOAD_LAB_STUDIES:-$PWD/../shared/studies}/" -name "${number}_*" 2>/dev/null | head -n 1)
    if [ -n "$text" ]; then
        echo "== The study's own logs"
        ansible-playbook playbooks/import_study.yml -e offload_lab_study="$study" -e offload_lab_study_text="$text" \
            -e offload_lab_results_dir="$results"
    else
        echo "The study's own logs are not imported: no file ${number}_* in ${OFFLOAD_LAB_STUDIES:-../shared/studies}."
    fi
fi
if [ "$study" = big_tcp ]; then
    OFFLOAD_LAB_UNDERLAY=2001:2::/64 OFFLOAD_LAB_MTU=4096 sh tools/demo.sh "$results" "$campaign" "$studies/labs/$study.yml"
    campaign=${campaign%.yml}_ipv4.yml
fi
exec sh tools/demo.sh "$results" "$campaign" "$studies/labs/$study.yml"
