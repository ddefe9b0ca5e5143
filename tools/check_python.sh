#!/bin/sh
# What an installation from sources needs: Python 3.11 with its venv module and headers, and a C compiler
# for the kernels. Installs what is missing where it may.
# Usage: sh tools/check_python.sh PYTHON
set -eu
"$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "trueodds needs Python 3.11 or later; set PYTHON=..." >&2
  exit 1
}
missing=""
"$1" -c 'import ensurepip, venv' 2>/dev/null || missing="python3-venv"
command -v "${CC:-cc}" >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
"$1" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  missing="$missing python3-dev"
[ -n "$missing" ] || exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
else
  echo "Missing:$missing (names of Debian packages). Install them, for example with apt install$missing;" \
    "Fedora: dnf install gcc python3-devel; macOS: xcode-select --install." >&2
  exit 1
fi
