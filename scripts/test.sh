#!/usr/bin/env bash
# Usage: scripts/test.sh [go test flags and packages]
#
# Without arguments: every test of the module, once. With arguments: one run
# of go test with them added to the flags below. Exits non-zero when a test
# failed or was skipped, or when none ran; the last line counts them. Of a test
# that passed, log messages that begin with "summary: " are shown, others not.
set -euo pipefail
cd "$(dirname "$0")/.."

# One set of flags everywhere: another set would compile everything anew.
readonly FLAGS="-json -timeout=20m"

# Packages tested under the race detector: those whose goroutines share memory.
# It compiles every dependency a second time, so packages that are pure, or
# that only wire others together, stay out.
readonly RACE="
elastic
fleet
fleet/fleettest
fleet/process
fleet/simulate
h2
h2/priority
internal/app/fleetfile
internal/cache
internal/httpapi
internal/notify
internal/originals
internal/progressive
internal/source
internal/spool
internal/transform
jobs
jobs/jobstest
store/postgres
store/redisbell
store/sqlite
"

# Of those, the ones that are tested without it as well: what takes long there
# is built without it only.
readonly BOTH="
fleet/simulate
"

# Tested alone when the others are done: they take the whole machine, and more.
# What they test is a program that they build, of which the cache of test results
# knows nothing, so they run each time.
readonly ALONE="
bench/soak
internal/chaos
internal/interop
"

report=$(mktemp -d)
trap 'rm -rf "$report"' EXIT
go build -o "$report/testreport" ./scripts/testreport

run() {
  # shellcheck disable=SC2086 # one word a flag
  go test $FLAGS "$@" || status=1
}

# Sorts the packages into those with the race detector, those without, those
# with both, and those that run alone.
sort_packages() {
  local module package
  module=$(go list -m)
  race=''
  plain=''
  alone=''
  both=''
  for package in $(go list ./...); do
    case $RACE in
      *"
${package#"$module"/}
"*) race="$race $package" ;;
      *) plain="$plain $package" ;;
    esac
    case $BOTH in
      *"
${package#"$module"/}
"*) both="$both $package" ;;
    esac
    case $ALONE in
      *"
${package#"$module"/}
"*)
        plain=${plain%" $package"}
        alone="$alone $package"
        ;;
    esac
  done
}

all() {
  local race plain alone both status=0
  if [ $# -gt 0 ]; then
    run "$@"
  else
    sort_packages
    # shellcheck disable=SC2086 # one word a package
    [ -z "$race" ] || run -race $race
    # shellcheck disable=SC2086
    [ -z "$plain" ] || run $plain
    # shellcheck disable=SC2086
    [ -z "$both" ] || run $both
    # What a million finished jobs cost is not for the race detector, under
    # which SQLite is thirty times slower.
    [ "${SPILLWAY_HEAVY:-}" != 1 ] || run -run TestHistory ./store/sqlite ./store/postgres
    # shellcheck disable=SC2086
    [ -z "$alone" ] || run -count=1 -p=1 -timeout=90m $alone
  fi
  return "$status"
}

all "$@" | "$report/testreport"
