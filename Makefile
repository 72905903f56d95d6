# Set-up is part of every target: a fresh clone needs Python 3.11 or newer and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The tests start hundreds of processes, which would each compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE
RUNTIME := $(VENV)/.installed-runtime
DEV := $(VENV)/.installed-dev

.PHONY: help reproduce test test-numbers docs bench clean
help:
	@echo "make reproduce     run every study at --scale quick on all cores, print what was found, write the report"
	@echo "make test          lint, types and the whole test suite"
	@echo "make test-numbers  the tests that touch numbers, as on an older processor with other kernels"
	@echo "make docs          build the documentation into docs/_build/html"
	@echo "make bench         run the benchmarks that print the numbers of benchmarks/RESULTS.md"
	@echo "make clean         remove the virtual environment and what the program made here"

reproduce: $(RUNTIME)
	$(BIN)/attnlab reproduce --scale quick --workers `$(BIN)/python -c 'import os; print(os.cpu_count())'`

test: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --level error
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Another BLAS kernel, another instruction set, NumPy without its vector code: what only rounding
# decides shows here.
NUMBERS := $(addprefix tests/,linear random rank separation stats maths training)
OLDER := import numpy._core._multiarray_umath as m; \
  print(*(name for name in m.__cpu_dispatch__ if m.__cpu_features__.get(name)))
test-numbers: $(DEV)
	NPY_DISABLE_CPU_FEATURES="`$(BIN)/python -c '$(OLDER)'`" \
	  OPENBLAS_CORETYPE=$${OPENBLAS_CORETYPE-Prescott} \
	  XLA_FLAGS="$${XLA_FLAGS---xla_cpu_max_isa=SSE4_2}" \
	  $(BIN)/python -m pytest -q -n 2 --dist loadfile $(NUMBERS)

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
