#!/bin/sh
# Installs the package named as argument in acp/, beside this file: the agent that `acp` starts. It is the deployment's choice, so no lock file knows it.
set -e
cd "$(dirname "$0")"
[ $# -eq 0 ] || npm install --prefix acp --save-exact --omit=optional --ignore-scripts --no-audit --no-fund "$@"
