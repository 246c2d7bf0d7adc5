#!/usr/bin/env bash
# Shows the worker pool at work: bin/spillway serves its demo pictures, 64
# clients ask for 20 s, then nobody does. Prints the workers over time from
# /metrics, then the latest decisions with their reasons from /debug/pools.
# Exits non-zero when the pool did not grow and come back to its minimum.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly CLIENTS=${CLIENTS:-64}
readonly SECONDS_BUSY=${SECONDS_BUSY:-20}
readonly SECONDS_QUIET=${SECONDS_QUIET:-30} # at most
[ -x bin/spillway ] || { echo "demo-pool: bin/spillway is missing; run make build" >&2; exit 1; }

work=$(mktemp -d)
server=''
clients=''

# Stops what this script started, by its process id.
stop() {
  [ -z "$1" ] || { kill "$1" && wait "$1"; } 2>/dev/null || true
}
cleanup() {
  stop "$clients"
  stop "$server"
  rm -rf "$work"
}
trap cleanup EXIT

# start LOG COMMAND... runs the program on a free port; address and admin are
# where it listens.
start() {
  local log=$1
  shift
  bin/spillway "$@" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --log-format json >"$log" 2>&1 &
  server=$!
  for _ in $(seq 200); do
    address=$(listens "$log" 'listening')
    [ -z "$address" ] || break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  admin=$(listens "$log" 'listening for operators')
  if [ -z "$address" ] || [ -z "$admin" ]; then
    cat "$log" >&2
    exit 1
  fi
}
listens() { sed -n "s/.*\"msg\":\"$2\".*\"address\":\"\([^\"]*\)\".*/\1/p" "$1" | head -n 1; }

# sample sets live, busy, queued and refused.
sample() {
  curl -fsS "http://$admin/metrics" >"$work/metrics"
  live=$(figure 'spillway_pool_workers{.*state="live"')
  busy=$(figure 'spillway_pool_workers{.*state="busy"')
  queued=$(figure 'spillway_pool_queued{')
  refused=$(figure 'spillway_pool_gate_refusals_total{.*reason="gate-cpu"')
}
figure() { awk -v want="^$1" '$0 ~ want { printf "%d", $NF }' "$work/metrics"; }

row() {
  printf '%6.1f s  %-5s  %4d  %4d  %6d  %12d  %s\n' \
    "$(elapsed)" "$1" "$live" "$busy" "$queued" "$refused" "$(printf '%*s' "$live" '' | tr ' ' '#')"
}
elapsed() { awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { print b - a }'; }

# The pictures are drawn by the playground, which is not needed any longer then.
start "$work/up.log" up --data "$work/data"
stop "$server"
start "$work/serve.log" serve --source-root "$work/data/demo"
picture=$(find "$work/data/demo" -name '*.jpg' -printf '%s %f\n' | sort -n | tail -n 1 | cut -d ' ' -f 2)

sample
least=$live most=$live
began=$(date +%s.%N)
echo "$CLIENTS clients ask for $picture for $SECONDS_BUSY s, each time in another size and quality."
echo
printf '%8s  %-5s  %4s  %4s  %6s  %12s\n' time load live busy queued 'gate refused'
row quiet
timeout "$SECONDS_BUSY" curl -sZ --parallel-immediate --parallel-max "$CLIENTS" -o /dev/null \
  "http://$address/resize?image_url=$picture&format=webp&sizes=[200-999]x0&quality=[1-100]" 2>/dev/null &
clients=$!
shown=''
while kill -0 "$clients" 2>/dev/null; do
  sample
  [ "$live" -le "$most" ] || most=$live
  now=$(elapsed)
  # Every change of the workers, and every other second.
  if [ "$shown" != "$live ${now%.*}" ] && { [ "${shown% *}" != "$live" ] || [ $((${now%.*} % 2)) -eq 0 ]; }; then
    row load
    shown="$live ${now%.*}"
  fi
  sleep 0.1
done
wait "$clients" || true
clients=''
until [ "$(awk -v t="$(elapsed)" -v end="$((SECONDS_BUSY + SECONDS_QUIET))" 'BEGIN { print (t > end) }')" = 1 ]; do
  sample
  if [ "${shown% *}" != "$live" ]; then
    row quiet
    shown="$live -"
  fi
  [ "$live" -gt "$least" ] || break
  sleep 0.1
done
row quiet

echo
echo "Answers (4xx: clients that were cut off at the end):"
sed -n 's/^spillway_http_requests_total{.*route="resize",status="\([^"]*\)"} \(.*\)/  \1 \2/p' "$work/metrics"
echo
echo "The latest decisions:"
curl -fsS "http://$admin/debug/pools" | awk '
  /"decisions"/ { inside = 1; next }
  !inside { next }
  match($0, /"[a-z]+": /) {
    key = substr($0, RSTART + 1, RLENGTH - 4)
    value = substr($0, RSTART + RLENGTH)
    gsub(/^"|",?$|,$/, "", value)
    d[key] = value
  }
  /^ *},?$/ && ("action" in d) {
    line = sprintf("  %s  %-6s %s of %s", substr(d["since"], 12, 12), d["action"], d["changed"], d["wanted"])
    if (d["times"] > 1) line = line sprintf(" (%s times)", d["times"])
    line = line ": " d["reason"]
    if (d["stopped"] != "") line = line "; stopped by " d["limit"] ": " d["stopped"]
    lines[++n] = line
    delete d
  }
  END { for (i = (n > 16 ? n - 15 : 1); i <= n; i++) print lines[i] }'
echo
if [ "$most" -le "$least" ] || [ "$live" -ne "$least" ]; then
  echo "demo-pool: workers went from $least to $most and are at $live; a rise and the return to the minimum were expected" >&2
  exit 1
fi
echo "Workers rose from $least to $most and came back to $live."
