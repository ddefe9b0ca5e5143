# `make demo` and `make test` do all the set-up by themselves, in a virtual environment of their own.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The environment, with kernels compiled as their sources are now.
READY := $(VENV)/.kernels
KERNELS := setup.py $(wildcard src/trueodds/kernels/*.py src/trueodds/kernels/*.pxd src/trueodds/kernels/*.h)
STUDY_KERNELS := studies/setup.py $(wildcard studies/src/trueodds_studies/kernels/*.py)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Torch comes first and pinned; where the index's build would bring CUDA along, set TORCH to the file of
# a CPU build.
TORCH ?= torch==2.13.0
# Settings of other projects must not leak into this environment, and modules are compiled once only.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

.PHONY: ready lowest-versions demo quick quick-tests test test-oldest-duckdb test-lowest-versions test-wheels test-pythons audit fuzz mutants lint docs bench \
  bench-full arena studies gate stubs clean

ready: $(READY)

# The demo has an environment of its own, with what it needs and no more.
DEMO := .venv-demo
demo: $(DEMO)/.installed
	$(DEMO)/bin/trueodds demo --force demo-output

$(DEMO)/.installed: pyproject.toml Makefile $(KERNELS)
	@sh tools/check_python.sh $(PYTHON)
	$(PYTHON) -m venv --clear $(DEMO)
	$(DEMO)/bin/python -m pip install -q -e ".[cli,plot,report]"
	@touch $@

# The tests of what computes; what runs on many engines takes longer.
CORE := $(wildcard tests/test_*.py) tests/calibrators tests/engines/test_cells.py tests/engines/test_grouping.py tests/engines/test_sampling.py tests/kernels tests/maps \
  tests/metrics tests/numerics

# While writing: lint, types, layers, and the tests of what computes, without the slow ones.
quick: $(READY)
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint quick-tests

quick-tests: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow" $(CORE) \
	  tests/compare tests/export tests/model_selection

# COVERAGE=1 also says how much of the code the tests ran; that takes a third more time.
COVERAGE ?=
test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -rs $(if $(COVERAGE),--cov --cov-report=)
	$(if $(COVERAGE),@echo "Coverage: $$($(BIN)/coverage report --format=total) % of lines")

# The core with the lowest versions that pyproject.toml declares.
LOWEST := build/lowest-versions
WHEELS := build/wheels
lowest-versions: $(LOWEST)/.installed

test-lowest-versions: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -n 2 --dist worksteal -q -m "not slow" \
	  $(filter-out tests/test_package.py tests/test_project.py,$(CORE))

$(LOWEST)/.installed: $(WHEELS)/.built $(READY) tools/lowest_versions.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(BIN)/python tools/lowest_versions.py cli engines plot dev >$(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install -q -c $(LOWEST)/constraints.txt \
	  "$$(ls $(WHEELS)/trueodds-[0-9]*.whl)[cli,engines,plot]" \
	  cython hypothesis jsonschema pandas pytest pytest-xdist
	@touch $@

# The wheels as users get them: the core alone in an empty environment, then the tests that the release
# runs on every platform, with just what it declares for them. Last, what the package index will check.
BARE := build/bare
DIST_TOOLS := build/dist-tools
test-wheels: $(WHEELS)/.built
	$(PYTHON) -m venv --clear $(BARE)
	$(BARE)/bin/python -m pip install -q --upgrade pip
	$(BARE)/bin/python -m pip install -q $(WHEELS)/trueodds-[0-9]*.whl
	$(BARE)/bin/python -I tools/use_bare_install.py
	$(BARE)/bin/python -m pip install -q --group wheel-tests
	env -u TRUEODDS_REQUIRE_ALL PATH="$(CURDIR)/$(BARE)/bin:$$PATH" \
	  sh -c "$$($(BIN)/python tools/wheel_test_command.py)"
	$(PYTHON) -m venv --clear $(DIST_TOOLS)
	$(DIST_TOOLS)/bin/python -m pip install -q abi3audit build twine
	$(DIST_TOOLS)/bin/python -m build -q --sdist --outdir $(WHEELS)/sources .
	$(DIST_TOOLS)/bin/twine check --strict $(WHEELS)/*.whl $(WHEELS)/sources/*
	$(DIST_TOOLS)/bin/abi3audit --strict --summary $(WHEELS)/trueodds-[0-9]*.whl

$(WHEELS)/.built: $(STAMP) $(KERNELS) pyproject.toml $(shell find src studies/src -name '*.py')
	rm -rf $(WHEELS)
	$(BIN)/python -m pip wheel -q --no-deps -w $(WHEELS) . ./studies
	@touch $@

# One wheel for every Python from 3.11 on: the tests of what computes, with each that is there.
PYTHONS ?= $(shell sh tools/list_pythons.sh)
test-pythons: $(WHEELS)/.built
	set -e; for python in $(PYTHONS); do \
	  $$python -m venv --clear build/python; \
	  build/python/bin/python -m pip install -q "$$(ls $(WHEELS)/trueodds-[0-9]*.whl)[engines]" \
	    cython hypothesis jsonschema pandas pytest pytest-xdist; \
	  build/python/bin/python --version; \
	  build/python/bin/python -m pytest -n 2 --dist worksteal -q -m "not slow" \
	    tests/kernels tests/numerics tests/maps tests/calibrators; \
	done

# The command line with the oldest DuckDB that pyproject.toml allows, in place of the newest.
OLDEST_DUCKDB := $(VENV)/oldest-duckdb
test-oldest-duckdb: $(OLDEST_DUCKDB)/.installed
	export PYTHONPATH="$(CURDIR)/$(OLDEST_DUCKDB)" && \
	$(BIN)/python -c 'import duckdb; print(duckdb.__file__); assert "oldest" in duckdb.__file__' && \
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -rs tests/cli

$(OLDEST_DUCKDB)/.installed: $(STAMP)
	rm -rf $(OLDEST_DUCKDB)
	$(BIN)/python -m pip install -q --no-deps --target $(OLDEST_DUCKDB) \
	  duckdb==$$(sed -n 's/^cli = .*"duckdb>=\([0-9.]*\)".*/\1/p' pyproject.toml)
	@touch $@

# Known problems of what is installed; said and left out where their database cannot be reached.
AUDIT := build/audit
audit: $(READY)
	@$(PYTHON) -m venv $(AUDIT) && $(AUDIT)/bin/python -m pip install -q pip-audit
	@$(AUDIT)/bin/pip-audit --skip-editable --path "$$(ls -d $(VENV)/lib/python3*/site-packages)" \
	  >$(AUDIT)/log 2>&1 \
	  && { grep -c "could not be audited" $(AUDIT)/log | sed 's/$$/ packages could not be looked up/'; } \
	  || { grep -qi "connection\|resolve" $(AUDIT)/log && echo "audit: no database can be reached; left out"; } \
	  || { cat $(AUDIT)/log; exit 1; }

# Coverage-guided fuzzing of maps, monitor states and CSV files, together, for this many seconds; then random
# calls of everything public. Every run tries other inputs; RUNS=1500 tries the same ones every time.
SECONDS ?= 120
RUNS ?= 0
CALLS ?= 10000
SEED ?= $(if $(filter 0,$(RUNS)),$$RANDOM,0)
fuzz: SHELL := bash
fuzz: $(READY)
	cd tests && ../$(BIN)/python -m fuzz.run_fuzzers --seconds $(SECONDS) --runs $(RUNS)
	cd tests && ../$(BIN)/python -m fuzz.fuzz_api --calls $(CALLS) --seed $(SEED)

# Small changes of what must not be wrong: does a test notice? See docs/mutants.md.
OPTIONS ?=
COSMIC_RAY := cosmic-ray==8.7.0
mutants: $(READY)
	@$(BIN)/python -m pip install -q "$(COSMIC_RAY)"
	$(BIN)/python tools/mutants.py $(OPTIONS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet --no-progress .github

docs: $(READY)
	rm -rf docs/generated docs/_build
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python tools/check_links.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Rivals live in an environment of their own.
RIVALS := .venv-rivals
$(RIVALS)/.installed: pyproject.toml studies/pyproject.toml
	$(PYTHON) -m venv --clear $(RIVALS)
	$(RIVALS)/bin/python -m pip install -q --upgrade pip
	$(RIVALS)/bin/python -m pip install -q "$(TORCH)"
	$(RIVALS)/bin/python -m pip install -q -e ".[plot,bench]" -e studies
	@touch $@

bench: $(RIVALS)/.installed
	$(RIVALS)/bin/python benchmarks/rivals/against_rivals.py

bench-full: $(RIVALS)/.installed
	$(RIVALS)/bin/python benchmarks/rivals/against_rivals.py --full --output bench-output-full
	$(RIVALS)/bin/python benchmarks/rivals/fit_speed.py 1000000 9
	$(RIVALS)/bin/python benchmarks/rivals/rival_methods.py
	$(RIVALS)/bin/python benchmarks/speed/import_time.py
	$(RIVALS)/bin/python tools/check_migration.py

# Accuracy: all methods on the predictions in the folder ARENA (see docs/arena.md). It resumes where it
# stopped; OPTIONS="--methods 'trueodds/*'" runs some of them.
ARENA ?= $(TRUEODDS_ARENA)
arena: $(RIVALS)/.installed
	TRUEODDS_ARENA="$(ARENA)" $(RIVALS)/bin/python benchmarks/arena/arena.py $(OPTIONS)

# The papers' experiments: all reports and the overview of claims in docs/studies. It goes on where it
# stopped; TRUEODDS_DATA names the folder of data sets.
STUDIES := studies-output
studies: $(READY)
	$(BIN)/trueodds study all --profile standard --jobs 2 -o $(STUDIES) >/dev/null
	cp $(STUDIES)/*.md $(STUDIES)/*.png docs/studies/

# Fails if the working tree is slower than BASE by more than 15 % and 50 ms in any task.
BASE ?= HEAD
gate: $(READY)
	$(BIN)/python benchmarks/rivals/gate.py $(BASE)

stubs: $(READY)
	$(BIN)/python tools/write_stubs.py
	$(BIN)/python tools/write_map_schema.py

$(STAMP): pyproject.toml studies/pyproject.toml Makefile
	@sh tools/check_python.sh $(PYTHON)
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q "$(TORCH)"
	$(BIN)/python -m pip install -q -e ".[dev,all,docs,integrations]" -e studies
	@touch $(STAMP)

$(READY): $(STAMP) $(KERNELS) $(STUDY_KERNELS)
	@if [ -n "$$(find $(KERNELS) -newer $(STAMP))" ]; then \
	  $(BIN)/python setup.py -q build_ext --inplace; fi
	@if [ -n "$$(find $(STUDY_KERNELS) -newer $(STAMP))" ]; then \
	  cd studies && ../$(BIN)/python setup.py -q build_ext --inplace; fi
	@touch $@

clean:
	rm -f src/trueodds/kernels/*.so studies/src/trueodds_studies/kernels/*.so
	rm -rf $(VENV) $(DEMO) $(RIVALS) .coverage demo-output bench-output bench-output-full arena-output studies-output build dist docs/_build docs/gallery docs/generated
