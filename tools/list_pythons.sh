#!/bin/sh
# Every Python from 3.11 on that this machine has, one a line.
for minor in 11 12 13 14 15; do
  for python in "python3.$minor" "$HOME"/.pyenv/versions/3."$minor".*/bin/python; do
    if command -v "$python" >/dev/null 2>&1 && "$python" -c 'import ensurepip, venv' 2>/dev/null; then
      echo "$python"
      break
    fi
  done
done
