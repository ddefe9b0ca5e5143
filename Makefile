# `make demo` and `make test` set up all that they need, by plain venv and pip. CONTRIBUTING.md says what each command is for.
PYTHON ?= python3
# Where the index's build of torch would bring CUDA along, name the file of a CPU build.
TORCH ?= torch==2.13.0
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal -q
KERNELS := setup.py $(wildcard src/trueodds/kernels/*.py src/trueodds/kernels/*.pxd src/trueodds/kernels/*.h)
STUDY_KERNELS := studies/setup.py $(wildcard studies/src/trueodds_studies/kernels/*.py)
RELEASE_CHECKS := audit oldest-duckdb lowest-versions wheels pythons
export PYTHON
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Settings of other projects must not leak into these environments.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE
.PHONY: demo test quick quick-tests lint docs fuzz bench arena studies gate stubs ready clean $(RELEASE_CHECKS)

demo: .venv-demo/.installed
	.venv-demo/bin/trueodds demo --force demo-output

test: ready
	$(PYTEST) -rs

quick: ready
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint quick-tests

quick-tests: ready
	$(PYTEST) -m "not slow" $(wildcard tests/test_*.py) $(addprefix tests/,calibrators engines/test_cells.py \
	  engines/test_grouping.py engines/test_sampling.py export kernels maps metrics model_selection numerics)

lint: ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_prose.py
	$(BIN)/zizmor --offline --quiet --no-progress .github

docs: ready
	rm -rf docs/generated docs/_build
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Every run tries other inputs for SECONDS; RUNS=10000 tries the same ones every time.
SECONDS ?= 120
RUNS ?= 0
CALLS ?= 10000
fuzz: ready
	cd tests && ../$(BIN)/python -m fuzz.run_fuzzers --seconds $(SECONDS) --runs $(RUNS)
	cd tests && ../$(BIN)/python -m fuzz.fuzz_api --calls $(CALLS) --seed $(if $(filter 0,$(RUNS)),$$(date +%s),0)

# OPTIONS="--full", or --help.
bench: .venv-rivals/.installed
	.venv-rivals/bin/python benchmarks/rivals/against_rivals.py $(OPTIONS)

# On data sets that come with a package, and on the predictions in the folder ARENA, if there is one; see
# docs/arena.md. Goes on where it stopped. Problems with groups are in the folder GROUPS; see docs/groups.md.
ARENA ?= $(TRUEODDS_ARENA)
GROUPS ?= $(TRUEODDS_GROUPS)
arena: .venv-rivals/.installed
	TRUEODDS_ARENA="$(ARENA)" .venv-rivals/bin/python benchmarks/arena/arena.py --packages --jobs 2 $(OPTIONS)
	if [ -n "$(GROUPS)" ]; then TRUEODDS_GROUPS="$(GROUPS)" .venv-rivals/bin/python benchmarks/arena/groups.py \
	  --programs mcgrad --out arena-output/groups.csv --write; fi

# The papers' experiments, on the data sets in the folder TRUEODDS_DATA. Goes on where it stopped.
studies: ready
	$(BIN)/trueodds-study all --profile standard --jobs 2 -o studies-output >/dev/null
	cp studies-output/*.md studies-output/*.json studies-output/*.png docs/studies/

# Is the working tree slower than BASE?
BASE ?= HEAD
gate: ready
	$(BIN)/python benchmarks/rivals/gate.py $(BASE)

stubs: ready
	$(BIN)/python tools/write_stubs.py
	$(BIN)/python tools/write_map_schema.py

$(RELEASE_CHECKS): ready
	bash tools/check_release.sh $@

# $(call install,FOLDER,REQUIREMENTS) makes an environment.
define install
@sh tools/check_python.sh $(PYTHON)
$(PYTHON) -m venv --clear $(1)
$(1)/bin/python -m pip install -q --upgrade pip
$(1)/bin/python -m pip install -q $(2)
@touch $(1)/.installed
endef

.venv/.installed: pyproject.toml studies/pyproject.toml Makefile
	$(call install,.venv,"$(TORCH)" -e ".[all]" -e studies --group dev)

DEMO := -e ".[cli,plot,report]"
.venv-demo/.installed: pyproject.toml Makefile $(KERNELS)
	$(call install,.venv-demo,$(DEMO))

.venv-rivals/.installed: pyproject.toml studies/pyproject.toml Makefile
	$(call install,.venv-rivals,"$(TORCH)" -e ".[plot]" -e studies --group bench)

# Kernels are compiled again when their sources have changed.
ready: .venv/.kernels
.venv/.kernels: .venv/.installed $(KERNELS) $(STUDY_KERNELS)
	@if [ -n "$$(find $(KERNELS) -newer $<)" ]; then $(BIN)/python setup.py -q build_ext --inplace; fi
	@if [ -n "$$(find $(STUDY_KERNELS) -newer $<)" ]; then cd studies && ../$(BIN)/python setup.py -q build_ext --inplace; fi
	@touch $@

clean:
	rm -rf .venv .venv-demo .venv-rivals .coverage build dist src/trueodds/kernels/*.so studies/src/trueodds_studies/kernels/*.so docs/_build docs/gallery docs/generated \
	  demo-output bench-output* arena-output* studies-output*
