#!/usr/bin/env bash
# Holds the house limits that no linter knows:
#   - a Go file has at most 600 lines (tests apart), ARCHITECTURE.md and
#     README.md at most 150;
#   - C is imported in internal/vips only;
#   - no path of somebody's machine and no package registry's host is in the
#     tree: both are settings of the machine that builds.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
complain() {
  printf 'limits: %s\n' "$*" >&2
  status=1
}

at_most() {
  local limit=$1 file=$2 lines
  lines=$(wc -l <"$file")
  [ "$lines" -le "$limit" ] || complain "$file has $((lines)) lines, more than $limit"
}

while IFS= read -r file; do
  case "$file" in
    *_test.go) ;;
    *.go) at_most 600 "$file" ;;
    README.md | ARCHITECTURE.md) at_most 150 "$file" ;;
  esac
  case "$file" in
    internal/vips/*) ;;
    *.go) ! grep -nE '^import "C"$|^[[:space:]]+"C"$' "$file" || complain "$file imports C; only internal/vips does, so that a crash has one suspect" ;;
  esac
done < <(git ls-files)

# The paths are spelled with brackets so that this script does not find itself.
found=$(git grep -nIE '(^|[^[:alnum:]_./-])/([h]ome/[a-z]|[U]sers/[A-Za-z]|[r]oot/|[w]ork/)' -- ':!LICENSE' ':!*/testdata/fuzz/*' || true)
[ -z "$found" ] || complain "a path of one machine is in the tree:
$found"

found=$(git grep -nIE '(proxy|sum)[.]golang[.]org|deb[.]debian[.]org|registry[.]npmjs[.]org' || true)
[ -z "$found" ] || complain "a package registry's host is in the tree:
$found"

exit "$status"
