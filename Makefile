# Placeholder; see "make help" once the tooling lands.
.PHONY: live
live:  ## the checkout where Ansible and Python find the collection
	mkdir -p .build/live/ansible_collections/offload && ln -sfn "$(CURDIR)" .build/live/ansible_collections/offload/lab
