#!/usr/bin/env bash
# Usage: scripts/fuzz.sh [DURATION]
#
# Runs every fuzz target of the module for DURATION (1m), one after the other.
# The targets are found by asking the compiled tests, so a new one needs no
# entry anywhere. What a target finds is left under its package's testdata.
set -euo pipefail
cd "$(dirname "$0")/.."
duration=${1:-1m}

# `go test -list` prints the names of a package's targets, then its "ok" line.
targets=$(go test -list '^Fuzz' ./... | awk '
  /^Fuzz/      { names[++count] = $1 }
  $1 == "ok"   { for (i = 1; i <= count; i++) print $2, names[i]; count = 0 }
  $1 == "FAIL" { exit 1 }')
[ -n "$targets" ] || {
  echo "fuzz: no target found" >&2
  exit 1
}

failed=''
while read -r package name; do
  printf 'fuzz: %s %s for %s\n' "$package" "$name" "$duration"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$duration" "$package" </dev/null || failed="$failed $name"
done <<<"$targets"

[ -z "$failed" ] || {
  echo "fuzz: failed:$failed" >&2
  exit 1
}
