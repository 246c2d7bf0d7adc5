#!/usr/bin/env bash
# Runs golangci-lint, shellcheck and scripts/limits.sh; all of them, even when
# an earlier one found something, and fails when any did.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
golangci-lint run ./... || status=1
# The list comes from git, so a new script is checked without an entry here.
git ls-files -z 'scripts/*.sh' .ci/run | xargs -0 shellcheck || status=1
scripts/limits.sh || status=1
exit "$status"
