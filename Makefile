# Set-up is part of every target: a fresh clone needs Python 3.11 or newer and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.installed-runtime
DEV := $(VENV)/.installed-dev

.PHONY: help reproduce test check docs bench clean
help:
	@echo "make reproduce   run every study at --scale quick on all cores, print the ledger, write the report"
	@echo "make test        lint, types and the whole test suite"
	@echo "make docs        build the documentation into docs/_build/html"
	@echo "make bench       run the benchmarks that print the numbers of benchmarks/RESULTS.md"
	@echo "make clean       remove the virtual environment and what the program made here"

reproduce: $(RUNTIME)
	$(BIN)/attnlab reproduce --scale quick --workers `$(BIN)/python -c 'import os; print(os.cpu_count())'`

test: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --level error
	$(BIN)/python -m pytest -n 2 --dist loadfile

docs: $(DEV)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "Documentation: docs/_build/html/index.html"

bench: $(RUNTIME)
	$(BIN)/attnlab bench

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "attnlab needs Python 3.11 or newer; '$(PYTHON)' is `$(PYTHON) --version 2>&1`. Try: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): requirements-dev.lock $(RUNTIME)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

clean:
	rm -rf $(VENV) attnlab-store attnlab-report docs/_build
