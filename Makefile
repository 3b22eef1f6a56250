PYTHON3 ?= python3
PYTHON := .venv/bin/python
PIP_INSTALL := $(PYTHON) -m pip install --quiet --disable-pip-version-check

found = $(shell $(PYTHON3) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
too_old = $(shell $(PYTHON3) -c 'import sys; assert sys.version_info >= (3, 11)' 2>/dev/null || echo yes)
no_venv = $(shell $(PYTHON3) -c 'import ensurepip, venv' 2>/dev/null || echo yes)

# What decides, and what is read and answered: tests that start no server, and the first of the recorded cases.
QUICK := $(addprefix tests/,rules findings policy policy_test admission kubernetes objects spread scheduler placement report \
	$(patsubst %,simulate/test_%.py,controllers deployment stateful_set replica_set revisions step state planning disruption \
	bound_claims waiting run cures results) \
	$(patsubst %,lint/test_%.py,judgement files repair suppressions session overlays gitignore rewriting other_files) \
	$(patsubst %,server/test_%.py,wire reviewer app renewal) \
	manifests conformance/test_first_cases.py)
MANY := --hypothesis-profile many

tag = evenkeel:$(shell sed -n 's/__version__ = "\(.*\)"/\1/p' webhook/__init__.py)
last_release = $(shell git describe --tags --abbrev=0 2>/dev/null || echo HEAD^)
of_image = --build-arg REVISION=$$(git rev-parse HEAD) $(if $(BASE),--build-arg BASE=$(BASE))

.PHONY: help run quick test test-all browser controlplane helm e2e simulate-check cert-manager-check demo transcripts oracle \
	oracle-diff oracle-live fuzz bench bench-peers lint lint-compare docs image images image-check lock release release-check clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' Makefile

run: .venv/test ## start the webhook without a cluster and show it answering; PORT=8443, ONCE=1 to stop then
	@$(PYTHON) -m tests.example --port $(or $(PORT),8443) $(if $(filter-out 0,$(ONCE)),--once)

quick: .venv/test ## run the tests that changes break most often, in less than a minute
	@$(PYTHON) -m pytest -q -m "not slow and not alone" $(QUICK)

test: .venv/test ## run the tests that need no cluster and no browser, JOBS=2 at once, in minutes
	@$(PYTHON) -m pytest -q -n $(or $(JOBS),2) --dist loadfile -m "not slow and not alone"

# COVERAGE_FILE in full: a process that has gone elsewhere before it forks would leave its share there. What has all minor
# versions and what measures runs without coverage, which takes as long as the tests themselves.
test-all: export COVERAGE_FILE := $(CURDIR)/.coverage
test-all: .venv/test ## the same with all minor versions, many examples, time and memory; and say what is covered
	@$(PYTHON) -m coverage erase
	@$(PYTHON) -m coverage run -m pytest -q $(MANY) -n $(or $(JOBS),2) --dist loadfile -m "not slow and not alone"
	@$(PYTHON) -m coverage combine --quiet
	@$(PYTHON) -m tests.house.coverage
	@$(PYTHON) -m pytest -q $(MANY) -n $(or $(JOBS),2) --dist loadfile -m "slow and not alone"
	@$(PYTHON) -m pytest -q $(MANY) -m alone

browser: .venv/browser ## open the pages in Chromium, which apt installs as root where there is none; npm for axe-core
	@command -v $(or $(CHROMIUM),chromium) >/dev/null || apt-get install --quiet --yes --no-install-recommends chromium || true
	@$(PYTHON) -m pytest -q tests/browser

controlplane: .venv/test ## build etcd, Kubernetes and kubectl for e2e from source, once on a machine; needs Go
	@$(PYTHON) -m tests.e2e.programs

helm: .venv/test ## build Helm for e2e from source, once on a machine; needs Go
	@$(PYTHON) -m tests.e2e.helm

e2e: controlplane helm ## run the tests against a real control plane, and the chart, but those marked slow; KUBERNETES=v1.33.13, JOBS=2 at once
	@$(PYTHON) -m pytest -q -n $(or $(JOBS),2) --dist loadfile -m "not slow" tests/e2e

simulate-check: controlplane ## hold simulate against real controllers in N=40 random clusters; KUBERNETES=v1.33.13
	@SIMULATIONS=$(or $(N),40) $(PYTHON) -m pytest -q tests/e2e/test_simulate.py

cert-manager-check: controlplane helm ## renew certificates and replace CAs by cert-manager itself, built once; needs Go
	@$(PYTHON) -m tests.e2e.cert_manager
	@$(PYTHON) -m pytest -q -s tests/e2e/test_cert_manager.py

demo: controlplane ## run evenkeel in a control plane on this machine, to try kubectl on; Ctrl-C removes it all
	@$(PYTHON) -m tests.e2e.demo

transcripts: controlplane ## rewrite what kubectl shows in docs/transcripts and docs/tutorial.md, and then the documents
	@$(PYTHON) -m tests.e2e.sessions
	@$(PYTHON) -m tests.e2e.tutorial
	@$(PYTHON) -m tests.generate.documents

oracle: .venv/test ## ask Kubernetes' own code, KUBERNETES=v1.37.1, and rewrite its recordings in tests/data; needs Go
	@$(PYTHON) -m tests.oracle $(KUBERNETES)

oracle-live: .venv/test ## ask Kubernetes' own code and evenkeel about new clusters, SECONDS=60; KUBERNETES=v1.37.1, SEED=1; needs Go
	@SECONDS=$(or $(SECONDS),60) $(PYTHON) -m tests.oracle.live

oracle-diff: .venv/test ## say which recordings differ between two minor versions, A=1.36 B=1.37, and in what
	@$(PYTHON) -m tests.oracle.diff $(A) $(B) $(CASE)

fuzz: .venv/test ## give reviews, policies, dumps, manifests, certificates and HTTP whatever may come, for SECONDS=60; CORPUS=build/fuzz
	@$(PYTHON) -m tests.fuzz $(if $(SECONDS),--seconds $(SECONDS)) $(if $(CORPUS),--corpus $(CORPUS)) $(FUZZ)

bench: .venv/test ## measure reviews, manifests, Pod creation, clusters and placing in them, beside others; some beside the commit BESIDE
	@$(PYTHON) -m tests.bench.reviews
	@$(PYTHON) -m tests.bench.creation
	@$(PYTHON) -m tests.bench.policies
	@$(PYTHON) -m tests.bench.cluster
	@$(PYTHON) -m tests.bench.dump
	@$(PYTHON) -m tests.bench.report
	@$(PYTHON) -m tests.bench.placement
	@$(PYTHON) -m tests.bench.volumes
	@$(PYTHON) -m tests.bench.simulation
	@$(PYTHON) -m tests.bench.lost_zone
	@$(PYTHON) -m tests.bench.mixed $(BESIDE)
	@$(PYTHON) -m tests.bench.growth
	@$(PYTHON) -m tests.generate.documents

bench-peers: controlplane ## measure evenkeel beside Kyverno and Gatekeeper, built once, and KUBE_LINTER, in ROUNDS=5; needs Go
	@$(PYTHON) -m tests.bench.peers $(if $(ROUNDS),--rounds $(ROUNDS))

lint: .venv/lint ## check style and types
	@$(PYTHON) -m ruff check --quiet
	@$(PYTHON) -m mypy

docs: .venv/test ## rewrite the generated documents
	@$(PYTHON) -m tests.generate.documents

lock: .venv/release ## rewrite the locked requirements from setup.cfg and pyproject.toml; UPGRADE=1 takes the newest
	@$(PYTHON) -m tests.release.lock $(if $(filter-out 0,$(UPGRADE)),--upgrade)

release: .venv/release helm ## build wheel, sdist, one file, chart, SBOM and checksums in build/release; KEY= signs, URL= is where they go
	@$(PYTHON) -m tests.release.build build/release $(if $(KEY),--key $(KEY)) $(if $(URL),--url $(URL))

release-check: .venv/release helm ## build a release, install it by the lock, use it, and print what its lint finds beside BESIDE
	@$(PYTHON) -m pytest -q tests/release
	@$(PYTHON) -m tests.release.lint_compared $(or $(BESIDE),$(last_release))

lint-compare: .venv/test ## print the findings of lint that differ from those of the commit BESIDE, in the examples and fixtures or in FOLDERS
	@$(PYTHON) -m tests.release.lint_compared $(or $(BESIDE),$(last_release)) $(FOLDERS)

image: ## build the images of the webhook and of the tools for this machine; needs Docker with BuildKit; BASE= is their base
	@docker build $(of_image) --tag $(tag) .
	@docker build $(of_image) --target tools --tag $(tag)-tools .

# Buildah 1.28, which Debian 12 has, does not set BUILDPLATFORM by itself.
images: ## build them for amd64 and arm64, as manifest lists; needs buildah, and no emulator; BASE= is their base
	@for target in webhook tools; do buildah build $(of_image) --target $$target --platform linux/amd64,linux/arm64 \
	--build-arg BUILDPLATFORM=$$(buildah info --format '{{.host.os}}/{{.host.arch}}') \
	--manifest $(tag)$$([ $$target = tools ] && echo -tools) . || exit; done

image-check: .venv/test helm ## build the images by buildah, and run them as the chart does; as root; BASE= is their base
	@$(if $(BASE),BASE=$(BASE)) $(PYTHON) -m pytest -q tests/image

clean: ## remove what the other targets made
	@rm -rf .venv build *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache .coverage*
	@find . -name __pycache__ -prune -exec rm -rf {} +

# A stamp is written last: a venv without one was interrupted, and --clear starts it afresh.
.venv/test: setup.cfg pyproject.toml
	$(if $(too_old),$(error evenkeel needs Python 3.11 or newer, found $(or $(found),none): \
	apt install python3.11-venv, then make PYTHON3=python3.11 $(MAKECMDGOALS)))
	$(if $(no_venv),$(error evenkeel needs the venv module: apt install python$(found)-venv))
	@echo "making a virtual environment in .venv, once"
	@$(PYTHON3) -m venv --clear .venv
	@$(PIP_INSTALL) -e '.[test]'
	@touch $@

# Without its stamp while pip is at work on it, or an interrupted install would pass for a whole one.
.venv/browser .venv/lint .venv/release: .venv/test
	@mv $< $<.off
	@$(PIP_INSTALL) -e '.[$(@F)]'
	@mv $<.off $<
	@touch $@
