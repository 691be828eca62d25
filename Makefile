# Everything runs in .venv, which the first target that needs it makes.
PYTHON ?= python3
BIN := .venv/bin
# Python compiles what it imports: to compile all of it takes longer than the rest of an installation.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
PIP_INSTALL_GROUP := $(PIP_INSTALL) 'pip>=25.1' && $(PIP_INSTALL)  # the first that knows dependency groups

# Tests start many processes: with this, each would compile our sources and rewrite the asserts of plugins again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo serve collect test test-wide test-all figures check paper docs bench release-check format clean
.DELETE_ON_ERROR:
.NOTPARALLEL:  # two installs into one .venv must not overlap

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: .venv/.runtime ## Install the libraries, compare real rankings, plan and simulate votes
	@$(BIN)/python benchmarks/demo.py

serve: .venv/.service ## Install the service, and start it on http://127.0.0.1:8000
	@$(BIN)/rankcorr-serve

# The votes are in .collect, which nothing here removes, and so is the token with which campaigns are made. COLLECT_BIND
# may be another address. The links are printed once they can be opened, and stay in sight: stdout, which has a line for
# each request, goes to a file.
COLLECT_BIND ?= 127.0.0.1:8080

collect: .venv/.service ## Install the service, and collect votes on a sample campaign on http://127.0.0.1:8080
	@! $(BIN)/python -c 'import socket, sys; host, _, port = sys.argv[1].rpartition(":"); socket.create_connection((host, port), 1)' $(COLLECT_BIND) 2> /dev/null || \
		{ echo "$(COLLECT_BIND) is in use; take another port: make collect COLLECT_BIND=127.0.0.1:9000" >&2; exit 2; }
	@mkdir -p .collect/images
	@test -s .collect/token || (umask 077 && $(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(32))' > .collect/token)
	@export RANKCORR_LEDGER=.collect/votes.db RANKCORR_BIND=$(COLLECT_BIND) && \
		export RANKCORR_ASSETS="$${RANKCORR_ASSETS:-.collect/images}" && \
		export RANKCORR_PUBLIC_URL="$${RANKCORR_PUBLIC_URL:-http://$(COLLECT_BIND)}" && \
		export RANKCORR_TOKENS="$${RANKCORR_TOKENS:-$$(cat .collect/token)}" && \
		LINKS="$$($(BIN)/python -m service.collect.sample --url "$$RANKCORR_PUBLIC_URL")" && \
		export RANKCORR_NOTICE="$$LINKS$$(printf '\n\nRequests are logged in .collect/requests.log. Stop with ctrl-c.')" && \
		exec $(BIN)/rankcorr-collect > .collect/requests.log

# "logical", because "auto" is the number of physical cores. A file stays in one process, because its tests share fixtures;
# files begin in the order of tests/conftest.py.
PYTEST := $(BIN)/python -m pytest --numprocesses logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder --durations 10 \
	-o tmp_path_retention_count=1

# Tests of ledgers wait for the disk half of the time, so their folders are in memory if 1 GB is free.
test test-wide test-all: export PYTEST_DEBUG_TEMPROOT := $(shell df -Pk /dev/shm 2> /dev/null | awk 'END { if ($$4 + 0 > 1000000) print "/dev/shm" }')

test: .venv/.test ## Run the tests of the libraries and of the service, and the doctests, on all processors
	$(PYTEST) -p no:schemathesis --ignore rankcorr/integrations/huggingface.py -m "not figures and not wide"

# These tests wait for servers and browsers half of the time, so there is one process more than processors.
test-wide test-all: PYTEST := $(subst logical,$(shell expr `getconf _NPROCESSORS_ONLN` + 1),$(PYTEST))

test-wide: .venv/.dev ## Run the other tests: servers, browsers, kills, PostgreSQL, documents
	$(PYTEST) -m "wide and not nightly and not figures"

test-all: .venv/.dev ## Run the same, generated clients, further screens, and 200 examples of each property
	HYPOTHESIS_PROFILE=ci $(PYTEST) -m "not figures and (wide or hypothesis)"

figures: .venv/.dev ## Recompute the statistical figures of the documents
	$(BIN)/python -m pytest -m figures

check: .venv/.check ## Check format, lint, types and import contracts
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

paper: .venv/.test ## Simulate Table 2 of the paper, and draw its Figures 2, 3 and 4 into build/paper
	@$(BIN)/python benchmarks/paper.py --workers 2 --figures build/paper

# Without --quiet, to show the progress and the time of each tutorial.
docs: .venv/.docs ## Build the site in docs/_build, with a page for each public name
	@test -e docs/.jupyter_cache || echo "The first build runs all tutorials: allow two to four minutes, most of them silent"
	$(BIN)/python -m sphinx -b html -j auto -W --keep-going docs docs/_build
	@echo "Open docs/_build/index.html"

bench: .venv/.dev ## Compare speed and memory with other packages
	@$(BIN)/python benchmarks/coefficients.py
	@$(BIN)/python benchmarks/ballots.py
	@$(BIN)/python benchmarks/strengths.py
	@$(BIN)/python benchmarks/reading.py
	@$(BIN)/python benchmarks/inference.py
	@$(BIN)/python benchmarks/inference_intervals.py
	@$(BIN)/python benchmarks/evaluation.py
	@$(BIN)/python benchmarks/merging.py
	@$(BIN)/python benchmarks/vectors.py
	@$(BIN)/python benchmarks/service_speed.py

release-check: ## Do all steps of a release except the upload: over 30 minutes
	.ci/release-check

format: .venv/.check ## Format the code and apply the fixes of the linter
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean: ## Remove .venv, caches and built files
	rm -rf .venv build dist docs/_build docs/.jupyter_cache docs/jupyter_execute docs/reference/generated htmlcov .coverage .coverage.* .hypothesis .mypy_cache .numba_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

PYTHON_IS_NEW_ENOUGH = $(shell $(PYTHON) -c 'import sys; print("yes" * (sys.version_info >= (3, 11)))' 2>/dev/null)

# --clear, because a folder without this file is left over from a failed run.
.venv/pyvenv.cfg:
	$(if $(PYTHON_IS_NEW_ENOUGH),,$(error rankcorr needs Python 3.11 or later, and "$(PYTHON)" is not: try "make PYTHON=python3.11"))
	$(PYTHON) -m venv --clear .venv

PROJECTS := pyproject.toml adaptive/pyproject.toml service/pyproject.toml

.venv/.runtime: $(PROJECTS) .venv/pyvenv.cfg
	@echo "Installing rankcorr and rankcorr-adaptive into .venv"
	@$(PIP_INSTALL) --editable . --editable ./adaptive
	@touch $@

.venv/.service: $(PROJECTS) .venv/pyvenv.cfg
	@echo "Installing rankcorr, rankcorr-adaptive and rankcorr-service into .venv"
	@$(PIP_INSTALL) --editable . --editable ./adaptive --editable ./service
	@touch .venv/.runtime $@

.venv/.docs: $(PROJECTS) .venv/pyvenv.cfg
	@echo "Installing rankcorr, rankcorr-adaptive, rankcorr-service and what builds the site into .venv"
	@$(PIP_INSTALL_GROUP) --editable '.[plot]' --editable ./adaptive --editable ./service --group docs
	@touch .venv/.runtime .venv/.service $@

.venv/.check: $(PROJECTS) .venv/pyvenv.cfg
	@echo "Installing rankcorr, rankcorr-adaptive, rankcorr-service and the tools of make check into .venv"
	@$(PIP_INSTALL_GROUP) --editable . --editable ./adaptive --editable ./service --group check
	@touch .venv/.runtime .venv/.service $@

.venv/.test: $(PROJECTS) .venv/pyvenv.cfg
	@echo "Installing rankcorr, rankcorr-adaptive, rankcorr-service and what make test needs into .venv"
	@$(PIP_INSTALL_GROUP) --editable '.[arrow,plot,trec]' --editable ./adaptive --editable './service[postgres,redis]' --group fast
	@touch .venv/.runtime .venv/.service $@

.venv/.dev: $(PROJECTS) .venv/pyvenv.cfg
	@echo "Installing rankcorr, rankcorr-adaptive, rankcorr-service and the development tools into .venv"
	@$(PIP_INSTALL_GROUP) --editable '.[arrow,plot,trec]' --editable './adaptive[cluster]' --editable './service[postgres,redis]' --group dev
	@touch .venv/.runtime .venv/.service .venv/.check .venv/.test $@
