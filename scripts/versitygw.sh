#!/usr/bin/env bash
# Usage: scripts/versitygw.sh
#
# Prints the path of a versitygw binary, an S3 server for the tests, and
# builds it first where it is missing (one to three minutes of CPU, once a
# version). A stamp beside it in the user's cache names the version, so that a
# new version never meets an old binary.
set -euo pipefail

version=v1.8.0
module=github.com/versity/versitygw/cmd/versitygw
bin=${XDG_CACHE_HOME:-$HOME/.cache}/spillway/bin
binary=$bin/versitygw
stamp=$binary.version

if [ -x "$binary" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$version" ]; then
  printf '%s\n' "$binary"
  exit 0
fi

mkdir -p "$bin"
# Several test packages may ask at once; one builds, the others wait for it.
if command -v flock >/dev/null && [ -z "${VERSITYGW_LOCKED:-}" ]; then
  VERSITYGW_LOCKED=1 exec flock "$bin/.versitygw.lock" "$0" "$@"
fi

printf 'versitygw: building %s once; this takes a few minutes\n' "$version" >&2
# Outside the module, so that its go.mod has no say; without race or cover
# flags that a caller may have exported. Same cgo setting as everything else,
# as another one would compile the standard library a second time.
(cd / && GOBIN=$bin GOFLAGS='' go install "$module@$version") >&2
printf '%s\n' "$version" >"$stamp"
printf '%s\n' "$binary"
