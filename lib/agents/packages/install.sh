#!/bin/sh
# Installs, in this folder, what the agents named as arguments need: the versions and checksums of the lock file, nothing else.
set -e
cd "$(dirname "$0")"
for agent in "$@"; do
  shift
  set -- "$@" "--workspace=reviewloop-agent-$agent"
done
[ $# -eq 0 ] || npm ci "$@" --ignore-scripts --no-audit --no-fund
