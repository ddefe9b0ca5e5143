# `make demo` and `make test` do all the set-up by themselves, in a virtual environment of their own.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Settings of other projects must not leak into this environment.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

.PHONY: demo test lint bench stubs clean

demo: $(STAMP)
	$(BIN)/python examples/demo.py demo-output

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/pip install -q -e ".[bench]"
	$(BIN)/python benchmarks/fit_speed.py 1000000 9
	$(BIN)/python benchmarks/import_time.py

stubs: $(STAMP)
	$(BIN)/python tools/write_stubs.py

$(STAMP): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "trueodds needs Python 3.11 or later; set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || sh tools/install_venv_module.sh
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -e ".[dev,all]"
	@touch $(STAMP)

clean:
	rm -rf $(VENV) demo-output build dist
