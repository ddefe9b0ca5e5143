#!/bin/sh
# The kernels are compiled when trueodds is installed from its sources. Install a C compiler and
# Python's headers if they are missing and we may.
# Usage: sh tools/install_compiler.sh PYTHON
set -eu
missing=""
command -v "${CC:-cc}" >/dev/null 2>&1 || missing="gcc libc6-dev"
"$1" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  missing="$missing python3-dev"
[ -n "$missing" ] || exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
else
  echo "A C compiler and Python's headers are needed; install them (Debian, Ubuntu: apt install" \
    "gcc libc6-dev python3-dev; Fedora: dnf install gcc python3-devel; macOS: xcode-select --install)." >&2
  exit 1
fi
