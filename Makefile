# The commands of a checkout; "make help" lists them. Each does what is needed before it: set-up is quick when it is done.

NODES ?= 2
NAME ?= lab
RESULTS ?= results
CAMPAIGN ?= playbooks/campaigns/demo.yml

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
ROOT := sh tools/as_root.sh
# Root's PATH may lack the virtual environment; Ansible finds its own helpers beside it.
PLAY = $(ROOT) env PATH="$(BIN):$$PATH" ansible-playbook
SETTINGS = -e offload_lab_results_dir="$(abspath $(RESULTS))" -e offload_lab_campaign_file="$(abspath $(CAMPAIGN))"

# Not to meet a lab that somebody forgot; NAME on the command line still wins.
demo: NAME = demo
study: NAME = study

export OFFLOAD_LAB_NODES = $(NODES)
export OFFLOAD_LAB_NAME = $(NAME)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

.DEFAULT_GOAL := help
.PHONY: help setup setup-test live lock demo study lab measure report teardown test unit lint integration molecule fuzz faults bench clean

help:  ## this list
	@echo "Usage: make TARGET [NODES=2] [NAME=lab] [CAMPAIGN=playbooks/campaigns/demo.yml] [RESULTS=results]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: live  ## the virtual environment and the collections (done by all others)
	@sh tools/setup.sh $(VENV) best requirements/controller.txt
	@$(VENV)/bin/python tools/collections_setup.py requirements.yml

setup-test: setup  ## setup, and what the tests need
	@sh tools/setup.sh $(VENV) best requirements/test.txt

live:  ## the checkout where Ansible and Python find the collection
	@mkdir -p .build/live/ansible_collections/offload
	@ln -sfn "$(CURDIR)" .build/live/ansible_collections/offload/lab

lock: setup  ## pin the newest versions of requirements/*.in again
	@sh tools/lock.sh $(BIN)

demo: setup  ## lab, a short campaign, its report, and all taken down again
	@$(ROOT) env PATH="$(BIN):$$PATH" sh tools/demo.sh "$(abspath $(RESULTS))" "$(abspath $(CAMPAIGN))"

study: setup  ## one of the five studies, STUDY=ovs_vxlan_offload ..., as demo; SHORT=1 takes minutes
	@$(ROOT) env PATH="$(BIN):$$PATH" SHORT="$(SHORT)" sh tools/study.sh "$(STUDY)" "$(abspath $(RESULTS))"

lab: setup  ## the nodes on this machine, their switches, tunnels and tenants
	$(PLAY) playbooks/nodes.yml
	$(PLAY) playbooks/lab.yml

measure: setup  ## measure CAMPAIGN on the lab; a stopped one goes on
	$(PLAY) playbooks/measure.yml $(SETTINGS)

report: setup  ## the report of CAMPAIGN, from RESULTS
	$(PLAY) playbooks/report.yml $(SETTINGS)

teardown: setup  ## the lab and its nodes removed
	$(PLAY) playbooks/teardown.yml
	$(PLAY) playbooks/nodes_absent.yml

test: setup-test  ## everything that is tested, as CI does; of the hostile names a short form
	@$(BIN)/pytest tests --ignore=tests/faults/test_faults.py --ignore=tests/system/test_nothing_lost.py \
		--ignore=tests/system/test_unreachable.py -n 2 --no-loadscope-reorder

unit: setup-test  ## the unit tests
	@$(BIN)/pytest tests/unit

lint: setup-test  ## linters, ansible-test sanity and the rules of imports
	@$(BIN)/pytest tests/lint

integration: setup-test  ## each module on real devices (root)
	@$(BIN)/pytest tests/integration

molecule: setup-test  ## the roles in containers with systemd (root, podman)
	@$(BIN)/pytest tests/molecule

fuzz: setup-test  ## 1,000,000 mutated inputs through every parser; hours
	@$(BIN)/python tests/fuzz

faults: setup-test  ## 105 faults at random moments of campaigns, 200 states restored on each device (root); hours
	$(ROOT) $(BIN)/python tests/faults
	$(ROOT) env OFFLOAD_LAB_FAULTS=all $(BIN)/pytest -s tests/faults tests/system/test_nothing_lost.py \
		tests/system/test_unreachable.py "tests/molecule/test_molecule.py::test_scenario[measure]"
	$(ROOT) env OFFLOAD_LAB_RESTORE_STATES=200 $(BIN)/pytest -s tests/system/test_restore.py

bench: setup-test  ## benchmarks, as ratios
	@set -e; for bench in tests/benchmarks/bench_*.py; do \
		echo "== $$bench"; PYTHONPATH=.build/live $(BIN)/python $$bench; done

clean:  ## what set-up and tests made here, but not results/
	rm -rf $(VENV) .build .cache tests/output
