# The commands of a checkout; "make help" lists them. Each first does what it needs: set-up is quick once it is done.

NODES ?= 2
NAME ?= lab
RESULTS ?= results
CAMPAIGN ?= playbooks/campaigns/demo.yml
# What makes the load where a campaign names nothing: netperf, iperf3, sockets or auto.
ENGINE ?=

# KERNELS=ONE,OTHER as JSON.
COMMA := ,
EMPTY :=
KERNEL_LIST = $(subst $(EMPTY) $(EMPTY),$(COMMA),$(patsubst %,"%",$(subst $(COMMA), ,$(KERNELS))))

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
ROOT := sh tools/as_root.sh
WITHOUT_ROOT := sh tools/without_root.sh env PATH="$(BIN):$$PATH"
# Root's PATH may lack the virtual environment; Ansible finds its own helpers beside it.
PLAY = @$(ROOT) env PATH="$(BIN):$$PATH" sh tools/play.sh "$(abspath $(RESULTS))"
SETTINGS = -e offload_lab_results_dir="$(abspath $(RESULTS))" -e offload_lab_campaign_file="$(abspath $(CAMPAIGN))"

# So that they never meet a forgotten lab; NAME on the command line still wins.
demo: NAME = demo
study: NAME = study
case: NAME = case
machines machines-demo machines-absent: NAME = machines
machines machines-demo machines-absent kernels: export ANSIBLE_INVENTORY = $(CURDIR)/inventories/virtual_machines
machines-demo: export NODES_PLAYBOOK = machines
machines-demo: CAMPAIGN = playbooks/campaigns/machines.yml
kernels: CAMPAIGN = playbooks/campaigns/kernels.yml

export OFFLOAD_LAB_NODES = $(NODES)
export OFFLOAD_LAB_NAME = $(NAME)
export OFFLOAD_LAB_ENGINE = $(ENGINE)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup setup-test live lock demo integrity case study lab measure report watch teardown machines machines-demo machines-test machines-absent machines-cache-absent kernels packages test quick try nightly matrix format golden unit lint integration molecule fuzz faults bench image docs nox release clean

help:  ## this list
	@echo "Usage: make TARGET [NODES=2] [NAME=lab] [CAMPAIGN=playbooks/campaigns/demo.yml] [RESULTS=results] [ENGINE=netperf]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

linux-required:
	@sh tools/linux.sh

setup: live  ## the virtual environment and the collections (done by all others)
	@[ -x $(VENV)/bin/pip ] || sh tools/packages.sh setup
	@sh tools/setup.sh $(VENV) best requirements/controller.txt
	@$(VENV)/bin/python tools/collections_setup.py requirements/collections.yml

setup-test: setup  ## setup, and what the tests need
	@sh tools/setup.sh $(VENV) best requirements/test.txt
	@$(VENV)/bin/python tools/collections_setup.py requirements/test-collections.yml

live:  ## the checkout where Ansible and Python find the collection
	@mkdir -p .build/live/ansible_collections/offload
	@ln -sfn "$(CURDIR)" .build/live/ansible_collections/offload/lab

lock:  ## pin the newest versions of requirements/*.in, with the checksums of their files
	@sh tools/lock.sh

demo: linux-required setup  ## a lab, a short campaign and its report; then everything is taken down
	@$(WITHOUT_ROOT) sh tools/demo.sh "$(abspath $(RESULTS))" "$(abspath $(CAMPAIGN))"

integrity: linux-required setup  ## is an offload broken? payload is compared byte for byte on the lab, which is then taken down
	@$(WITHOUT_ROOT) sh tools/demo.sh "$(abspath $(RESULTS))" "$(abspath playbooks/campaigns/integrity.yml)"

case: linux-required setup  ## a known case, CASE=calico-4727 ... of docs/known-cases.md: a lying network card, the verdict, and the cure
	@$(WITHOUT_ROOT) sh tools/case.sh "$(CASE)" "$(abspath $(RESULTS))"

study: linux-required setup  ## one of the published studies, STUDY=ovs_vxlan_offload ..., as demo; SHORT=1 takes minutes
	@$(WITHOUT_ROOT) SHORT="$(SHORT)" sh tools/study.sh "$(STUDY)" "$(abspath $(RESULTS))"

lab: linux-required setup  ## the nodes on this machine, their switches, tunnels and tenants
	$(PLAY) playbooks/nodes.yml playbooks/lab.yml

measure: linux-required setup  ## measure CAMPAIGN on the lab; a stopped campaign goes on
	$(PLAY) playbooks/measure.yml $(SETTINGS)

report: setup  ## the report of CAMPAIGN, from RESULTS
	$(PLAY) playbooks/report.yml $(SETTINGS)

watch:  ## the report of CAMPAIGN while it runs, as text; report.html in a browser reloads itself
	@watch -t -n 5 cat "$(RESULTS)/$$(sed -n 's/^name: *//p' "$(CAMPAIGN)")/report.txt"

teardown: linux-required setup  ## remove the lab and its nodes
	$(PLAY) playbooks/teardown.yml playbooks/nodes_absent.yml

machines: linux-required setup machines-packages  ## two virtual machines on this machine, and a lab of them; see docs/virtual-machines.md
	$(PLAY) playbooks/machines.yml
	$(PLAY) playbooks/lab.yml

machines-demo: linux-required setup machines-packages  ## demo in two virtual machines: the kernel datapath; slow without KVM
	@$(ROOT) env PATH="$(BIN):$$PATH" sh tools/demo.sh "$(abspath $(RESULTS))" "$(abspath $(CAMPAIGN))"

machines-absent: setup  ## remove the virtual machines
	$(PLAY) playbooks/machines_absent.yml

kernels: linux-required setup machines-packages  ## CAMPAIGN under KERNELS=linux-image-...,linux-image-... in virtual machines, one report; GOOD= BAD= searches between; a stopped one goes on
	$(PLAY) playbooks/kernels.yml -e offload_lab_campaign_file="$(abspath $(CAMPAIGN))" \
		-e offload_lab_kernels_output="$(abspath $(RESULTS))/kernels" $(if $(KERNELS),-e '{"offload_lab_kernels": [$(KERNEL_LIST)]}') \
		$(if $(GOOD)$(BAD),-e '{"offload_lab_kernel_good": "$(GOOD)"$(COMMA) "offload_lab_kernel_bad": "$(BAD)"}') \
		$(if $(SLOWER),-e offload_lab_kernel_slower_percent="$(SLOWER)")

machines-cache-absent: setup  ## remove the images and kernels that are kept for virtual machines
	$(PLAY) playbooks/machines_cache_absent.yml

machines-packages: live
	@sh tools/packages.sh machines

machines-test: setup-test machines-packages  ## the tests that start virtual machines (root or sudo)
	@sh tools/test.sh $(BIN) tests/machines -m guests

packages: live  ## the packages of the operating system that the tests need (root or sudo)
	@sh tools/packages.sh test

test: packages setup-test  ## all tests, as CI runs them, with all set-up (root or sudo)
	@sh tools/test.sh $(BIN) tests -m "not nightly and not guests" -n 3 --no-loadscope-reorder --timeout 1200

quick: setup-test  ## ruff, mypy, the rules, and the unit tests that are not slow: a minute
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/pytest tests/unit tests/lint/test_rules.py -m "not slow and not nightly" --hypothesis-profile=quick -n 2 -q

try: setup-test  ## one integration target, TARGET=ovs_ports ... (root)
	@$(ROOT) $(BIN)/python tools/run_ansible_test.py integration --allow-root --allow-destructive "$(TARGET)"

nightly: packages setup-test  ## what make test leaves out because it takes long (root or sudo)
	@sh tools/test.sh $(BIN) tests -m "nightly and not guests"
	@$(BIN)/python tests/instruments/fuzz 50000
	@sh tools/matrix.sh

matrix: setup-test  ## what Galaxy and the community check; all of sanity, and the unit tests, on ansible-core 2.18 to 2.21; half an hour each
	@sh tools/matrix.sh

format: setup-test  ## format all Python code, and order its imports
	@$(BIN)/ruff check --quiet --select I --fix
	@$(BIN)/ruff format --quiet

golden: setup-test  ## write the golden reports of tests/unit/recorded/golden again; read the diff
	@PYTHONPATH=.build/live $(BIN)/python tests/report_golden.py "$$(mktemp -d)"

unit: setup-test  ## the unit tests
	@$(BIN)/pytest tests/unit

lint: setup-test  ## linters, ansible-test sanity and the rules of imports
	@$(BIN)/pytest tests/lint

integration: setup-test  ## each module on real devices (root)
	@$(BIN)/pytest tests/integration

molecule: setup-test  ## the roles in containers with systemd (root, podman)
	@$(BIN)/pytest tests/molecule

fuzz: setup-test  ## 1,000,000 mutated inputs through every parser; hours
	@$(BIN)/python tests/instruments/fuzz

faults: setup-test  ## 105 faults at random moments of campaigns, 200 states restored on each device (root); hours
	$(ROOT) $(BIN)/python tests/instruments/faults
	$(ROOT) env OFFLOAD_LAB_FAULTS=all OFFLOAD_LAB_KILLS=30 $(BIN)/pytest -s tests/instruments/faults tests/system/faults \
		"tests/molecule/test_molecule.py::test_scenario[measure]"
	$(ROOT) env OFFLOAD_LAB_RESTORE_STATES=200 $(BIN)/pytest -s tests/integration/test_restore_states.py

bench: setup-test  ## benchmarks, as ratios
	@set -e; for bench in tests/instruments/benchmarks/bench_*.py; do \
		echo "== $$bench"; PYTHONPATH=.build/live $(BIN)/python $$bench; done

image: setup-test  ## the execution environment for AWX, BASE=NAME@sha256:... IMAGE=localhost/offload-lab-ee; see docs/awx.md
	@BASE="$(BASE)" IMAGE="$(IMAGE)" PYTHON="$(PYTHON)" PKGMGR="$(PKGMGR)" BUILDER="$(BUILDER)" sh tools/image.sh $(BIN)

docs: setup-test  ## the documentation as a site, in .build/docs/html
	@$(BIN)/python tools/docs/pages.py .build/docs/source
	@cd .build/docs/source && ANSIBLE_CONFIG=$(CURDIR)/ansible.cfg ANSIBLE_COLLECTIONS_PATH=$(CURDIR)/.build/live PATH=$(BIN):$$PATH \
		$(BIN)/antsibull-docs collection --use-current --no-indexes --dest-dir . offload.lab
	@$(BIN)/sphinx-build -W --keep-going -q .build/docs/source .build/docs/html
	@echo "Documentation: $(CURDIR)/.build/docs/html/index.html"

nox: setup-test  ## the checks of Ansible's community: unwanted files, licences, build, import as Galaxy does
	@$(BIN)/nox --sessions extra-checks license-check build-import-check

release: setup-test  ## collection, execution environment, site and example report of the last commit, checked; DEMO=no CHECKS=no
	@DEMO=$(DEMO) CHECKS=$(CHECKS) sh tools/release/release.sh $(BIN)

clean:  ## remove what set-up and tests made here, but not results/
	rm -rf $(VENV) .build .cache tests/output
