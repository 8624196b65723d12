# `make verify` sets up and runs the main job; `make test` sets up and passes the tests.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: verify test lint types tests notebooks benchmarks clean

$(BIN)/qtheory: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/test-extras: $(BIN)/qtheory
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

verify: $(BIN)/qtheory
	$(BIN)/qtheory verify proofs --json out/theorems.json --latex out/theorems.tex --certificates out/certificates
	$(BIN)/qtheory check out/certificates/*.json

test: lint types tests

lint: $(VENV)/test-extras
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test-extras
	$(BIN)/mypy

tests: $(VENV)/test-extras
	$(BIN)/python -m pytest

# a peer that cannot be installed here is left out of the tables
$(VENV)/peers: $(VENV)/test-extras
	-$(BIN)/python -m pip install --quiet --editable '.[benchmarks]'
	touch $@

benchmarks: $(VENV)/peers
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) out build *.egg-info
