#!/usr/bin/env bash
# Checks before a release, each in environments of its own in build/:
#   audit            known vulnerabilities of what .venv holds, where their database can be reached
#   oldest-duckdb    the command line with the oldest DuckDB that pyproject.toml allows
#   lowest-versions  the core with the lowest version of each dependency
#   wheels           the wheel made of the source distribution, without extras: the tests that the release runs
#                    on it, and what the index checks
#   pythons          the wheel with each Python of PYTHONS that the machine has
# Usage: bash tools/check_release.sh CHECK, after `make ready`
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

environment() { # FOLDER REQUIREMENT...
  "${PYTHON:-python3}" -m venv --clear "$1"
  "$1/bin/python" -m pip install -q --upgrade pip
  "$1/bin/python" -m pip install -q "${@:2}"
}

run_tests() { # PYTHON ARGUMENT...
  "$1" -m pytest -n 2 --dist worksteal -q "${@:2}"
}

setting() { # EXPRESSION of the project's settings p
  .venv/bin/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb')); print($1)"
}

build_wheel() { # unless it is newer than its sources
  if [ ! -e build/wheels/built ] || [ -n "$(find setup.py pyproject.toml src studies -name '*.[pt]*' -type f \
    ! -name '*.pyc' -newer build/wheels/built)" ]; then
    rm -rf build/wheels build/lib* studies/build/lib* # which would keep files that are gone
    # From the source distribution, so that one is tested, too: what it lacks, the wheel lacks.
    .venv/bin/python -c 'from setuptools.build_meta import build_sdist; build_sdist("build/wheels/sources")' >/dev/null
    .venv/bin/python -m pip wheel -q --no-deps -w build/wheels build/wheels/sources/trueodds-[0-9]*.tar.gz ./studies
    touch build/wheels/built
  fi
  wheel=$(ls build/wheels/trueodds-[0-9]*.whl)
}

case "$1" in
audit)
  environment build/audit pip-audit
  if build/audit/bin/pip-audit --skip-editable --path .venv/lib/python3*/site-packages >build/audit/log 2>&1; then
    echo "$(grep -c 'could not be audited' build/audit/log || true) packages could not be looked up"
  elif grep -qi 'connection\|resolve' build/audit/log; then
    echo "audit: no database can be reached; left out"
  else
    cat build/audit/log
    exit 1
  fi
  ;;
oldest-duckdb)
  oldest=$(setting '[r for r in p["project"]["optional-dependencies"]["cli"] if "duckdb" in r][0].replace(">=", "==")')
  rm -rf build/oldest-duckdb
  .venv/bin/python -m pip install -q --no-deps --target build/oldest-duckdb "$oldest"
  export PYTHONPATH="$PWD/build/oldest-duckdb"
  .venv/bin/python -c 'import duckdb; print(duckdb.__file__); assert "oldest" in duckdb.__file__'
  run_tests .venv/bin/python -rs tests/cli
  ;;
lowest-versions)
  build_wheel
  .venv/bin/python tools/lowest_versions.py cli engines plot dev wheel-tests >build/lowest.txt
  environment build/lowest -c build/lowest.txt "$wheel[cli,engines,plot]" --group wheel-tests pytest-xdist
  # Without tests of the checkout itself, and those that need Dask, Ibis and Spark.
  run_tests build/lowest/bin/python -m "not slow" --deselect tests/test_package.py --deselect tests/test_project.py \
    tests/test_*.py tests/{calibrators,kernels,maps,metrics,numerics} tests/engines/test_{cells,grouping,sampling}.py
  ;;
wheels)
  build_wheel
  environment build/bare "$wheel"
  build/bare/bin/python -I tools/use_bare_install.py
  build/bare/bin/python -m pip install -q --group wheel-tests
  command=$(setting 'p["tool"]["cibuildwheel"]["test-command"].format(project=".")')
  env -u TRUEODDS_REQUIRE_ALL PATH="$PWD/build/bare/bin:$PATH" sh -c "$command"
  environment build/index abi3audit twine
  build/index/bin/twine check --strict build/wheels/*.whl build/wheels/sources/*
  build/index/bin/abi3audit --strict --summary "$wheel"
  ;;
pythons)
  build_wheel
  for python in ${PYTHONS:-python3.11 python3.12 python3.13 python3.14}; do
    "$python" --version || continue
    PYTHON=$python environment build/python "$wheel[engines]" --group wheel-tests pytest-xdist
    run_tests build/python/bin/python -m "not slow" tests/{calibrators,kernels,maps,numerics}
  done
  ;;
*)
  sed -n '2,9s/^# \?//p' "$0"
  exit 2
  ;;
esac
