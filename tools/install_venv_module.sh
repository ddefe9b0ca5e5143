#!/bin/sh
# Debian and Ubuntu ship Python without the venv module; install it if we may.
set -eu
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  apt-get update -qq
  apt-get install -y -qq python3-venv
else
  echo "Python's venv module is missing; install it (Debian, Ubuntu: apt install python3-venv)." >&2
  exit 1
fi
