# Everything runs in .venv, which the first target that needs it makes.
PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo serve test check bench format clean
.DELETE_ON_ERROR:
.NOTPARALLEL:  # two installs into one .venv must not overlap

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: .venv/.runtime ## Install the library alone, compare real rankings, plan and simulate ballots
	@$(BIN)/python benchmarks/demo.py

serve: .venv/.service ## Install the service, and start it on http://127.0.0.1:8000
	@$(BIN)/rankcorr-serve

test: .venv/.dev ## Run every test and doctest
	$(BIN)/python -m pytest

check: .venv/.dev ## Check format, lint and types
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

bench: .venv/.dev ## Print speed and memory against the peers
	@$(BIN)/python benchmarks/coefficients.py
	@$(BIN)/python benchmarks/ballots.py
	@$(BIN)/python benchmarks/inference.py
	@$(BIN)/python benchmarks/inference_bootstrap.py
	@$(BIN)/python benchmarks/service.py

format: .venv/.dev ## Format the code and repair what the linter can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean: ## Remove .venv, caches and built files
	rm -rf .venv build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

PYTHON_IS_NEW_ENOUGH = $(shell $(PYTHON) -c 'import sys; print("yes" * (sys.version_info >= (3, 11)))' 2>/dev/null)

# --clear, because a folder without this file is what a failed run left behind.
.venv/pyvenv.cfg:
	$(if $(PYTHON_IS_NEW_ENOUGH),,$(error rankcorr needs Python 3.11 or later, and "$(PYTHON)" is not: try "make PYTHON=python3.11"))
	$(PYTHON) -m venv --clear .venv

.venv/.runtime: pyproject.toml .venv/pyvenv.cfg
	@echo "Installing rankcorr into .venv"
	@$(PIP_INSTALL) --editable .
	@touch $@

.venv/.service: pyproject.toml .venv/pyvenv.cfg
	@echo "Installing rankcorr and its service into .venv"
	@$(PIP_INSTALL) --editable '.[service]'
	@touch .venv/.runtime $@

.venv/.dev: pyproject.toml .venv/pyvenv.cfg
	@echo "Installing rankcorr and its development tools into .venv"
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch .venv/.runtime .venv/.service $@
