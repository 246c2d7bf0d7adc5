#!/usr/bin/env bash
# Takes the playground's pictures for the docs, from bin/spillway in a headless
# Chromium, into docs/images. Look at them before you commit them.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly OUT=$PWD/docs/images
[ -x bin/spillway ] || { echo "screenshots: bin/spillway is missing; run make build" >&2; exit 1; }

mkdir -p "$OUT"
# The test starts the program on a free port, waits until it listens, and ends
# it by its process id.
go test ./internal/web -count=1 -run '^TestScreenshots$' -binary "$PWD/bin/spillway" -screenshots "$OUT"
chmod 0644 "$OUT"/playground-*.png
ls -l "$OUT"
