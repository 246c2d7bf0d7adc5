#!/usr/bin/env bash
# Shows what the scheduler decides, and why, without a cloud and without a cent:
# fills a database in a temporary folder with a backlog, and prints what the next
# round would do with deploy/scheduler.sample.json, whose mode is vps_only, and
# with deploy/scheduler.hybrid.json. Starts no process that stays, and no machine.
# Exits non-zero when the decisions are not as they should be.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

readonly JOBS=60 # in each of the two queues
say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'demo-schedule: %s\n' "$*" >&2
  exit 1
}
[ -x bin/spillway ] || fail "bin/spillway is missing; run make build"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SPILLWAY_DATABASE="sqlite://$work/jobs.db"
# A file that others may write is refused, which a checkout may make of these.
install -m 644 deploy/scheduler.sample.json deploy/scheduler.hybrid.json "$work"

say "$((2 * JOBS)) jobs wait, and there is no worker"
for queue in images bulk; do
  priority=5
  [ "$queue" != bulk ] || priority=8
  for n in $(seq "$JOBS"); do
    bin/spillway enqueue image.derive --input "picture-$n.jpg" --sizes 300x0 --queue "$queue" --priority "$priority" >/dev/null 2>&1
  done
done
bin/spillway queues

# round FILE prints what the next round would do, and keeps it.
round() {
  say "what the next round would do with $1"
  bin/spillway schedule --once --dry-run --scheduler-config "$work/$1" | tee "$work/round"
}

round scheduler.sample.json
grep -q 'vps_only' "$work/round" || fail "it is not said that the mode is vps_only"
! grep -q '^launch' "$work/round" || fail "a machine would be launched in vps_only"

round scheduler.hybrid.json
grep -Eq '^launch .*Scaling up (images|bulk): depth=' "$work/round" || fail "no machine would be launched in hybrid"
grep -q 'an hour' "$work/round" || fail "no price is told"
grep -q 'rejected' "$work/round" || fail "no alternative is told that was rejected"

say "nothing was changed"
bin/spillway schedule status --scheduler-config "$work/scheduler.hybrid.json"
