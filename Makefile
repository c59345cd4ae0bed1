# Every target works on a fresh clone by itself: it makes the virtual environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-done

.DEFAULT_GOAL := help
.PHONY: help setup demo test slow lint types bench docs clean

help:  ## show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP)  ## make .venv and install the package with its tools; does nothing when nothing changed

$(STAMP): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once; a few minutes on a fresh machine)"
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "worstclass needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(STAMP)  ## train on the paper's balanced artificial data, with progress; ends with the report's path
	$(BIN)/python examples/demo.py --out demo-output

test: $(STAMP)  ## all fast tests, documented examples included
	$(BIN)/python -m pytest -n 2

slow: $(STAMP)  ## tests that train for minutes, and fuzzing
	$(BIN)/python -m pytest -m slow

lint: $(STAMP)  ## style, import layers, dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/deptry src

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

bench: $(STAMP)  ## speed, as ratios measured side by side
	$(BIN)/python benchmarks/fit_overhead.py

docs: $(STAMP)  ## build the documentation site, and run every example of README and docs
	$(BIN)/python -m sphinx --fail-on-warning --quiet --builder html docs build/docs
	$(BIN)/python -m pytest -n 2 -m 'slow or not slow' tests/test_documents.py tests/test_doctests.py
	@echo "documentation: build/docs/index.html"

clean:  ## remove what the other targets made
	rm -rf $(VENV) demo-output build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
