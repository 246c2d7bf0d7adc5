#!/usr/bin/env bash
# Shows durable jobs on several processes: starts Postgres and Redis of its own in
# a temporary folder, migrates, starts a server and then two workers, and has them
# make pictures of the demo pictures. Prints queues, the lengths of the lists in
# Redis, workers and outputs, and stops everything it started by its process id.
# Exits non-zero when anything was not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

readonly INTERVAL=1 # seconds between two repairs of the depths in Redis
say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'demo-cluster: %s\n' "$*" >&2
  exit 1
}
[ -x bin/spillway ] || fail "bin/spillway is missing; run make build"

work=$(mktemp -d)
chmod 755 "$work" # the user postgres goes through it
pids=''           # of what runs, the latest first

# stop ends one process that this script started, and waits for it.
stop() {
  kill "$1" 2>/dev/null || true
  wait "$1" || return $?
}
cleanup() {
  local status=$? pid
  for pid in $pids; do
    stop "$pid" >/dev/null 2>&1 || true
  done
  [ "$status" -eq 0 ] || tail -n 5 "$work"/*.log >&2 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

# start NAME COMMAND... runs it in the background; its output goes to NAME.log,
# and its process id to the variable started.
start() {
  local log="$work/$1.log"
  shift
  "$@" >"$log" 2>&1 &
  started=$!
  pids="$started $pids"
}
forget() { pids=$(printf '%s' "$pids" | sed "s/\\b$1\\b//"); }

# until_true SECONDS WHAT COMMAND... tries the command until it succeeds.
until_true() {
  local tries=$(($1 * 10)) what=$2
  shift 2
  for _ in $(seq "$tries"); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  fail "$what"
}

# free_port prints a port that nobody listens on at the moment.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 30000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
}

# --- Postgres, which refuses to run as root, and Redis -------------------------

# Debian keeps the programs of each release apart; a link on PATH may name one of them.
initdb=$(command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1)
pg_bin=$(dirname "$(readlink -f "${initdb:-/}")")
[ -x "$pg_bin/initdb" ] || fail "Postgres is missing; scripts/setup.sh demo-cluster installs it"
as=()
mkdir "$work/pg"
if [ "$(id -u)" -eq 0 ]; then
  chown postgres "$work/pg"
  as=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi
say "Postgres and Redis of this demo start"
(cd "$work/pg" && ${as[@]+"${as[@]}"} "$pg_bin/initdb" -D "$work/pg/data" -U spillway -A trust --no-sync >"$work/initdb.log") ||
  fail "initdb did not work"
pg_port=$(free_port)
start postgres ${as[@]+"${as[@]}"} "$pg_bin/postgres" -D "$work/pg/data" -p "$pg_port" -h 127.0.0.1 -k "$work/pg"
sql() { "$pg_bin/psql" -h 127.0.0.1 -p "$pg_port" -U spillway -d "$1" -Atc "$2"; }
until_true 30 "Postgres does not answer" sql postgres 'SELECT 1'
sql postgres 'CREATE DATABASE spillway' >/dev/null
export SPILLWAY_DATABASE="postgres://spillway@127.0.0.1:$pg_port/spillway?sslmode=disable"

redis_port=$(free_port)
start redis redis-server --port "$redis_port" --bind 127.0.0.1 --save '' --appendonly no --dir "$work"
redis() { redis-cli -h 127.0.0.1 -p "$redis_port" "$@"; }
until_true 10 "Redis does not answer" redis PING
export SPILLWAY_REDIS="redis://127.0.0.1:$redis_port/0"

# --- A server ------------------------------------------------------------------

# listening LOG prints the address that a server has told.
listening() { sed -n 's/.*"msg":"listening","address":"\([^"]*\)".*/\1/p' "$work/$1.log" | head -n 1; }
listens() { [ -n "$(listening "$1")" ]; }
working() { grep -q '"msg":"worker registered"' "$work/$1.log"; }

say "the demo pictures are drawn by up, which is not needed any longer then"
start up env -u SPILLWAY_DATABASE -u SPILLWAY_REDIS bin/spillway up --data "$work/data" --listen 127.0.0.1:0 --log-format json
until_true 120 "up does not listen" listens up
stop "$started" || fail "up did not end well"
forget "$started"
pictures="$work/data/demo"

export SPILLWAY_SOURCE_ROOT="$pictures" SPILLWAY_BLOB="$work/blobs" SPILLWAY_LOG_FORMAT=json
export SPILLWAY_RECONCILE_INTERVAL="${INTERVAL}s"
bin/spillway token demo --append "$work/tokens" | head -n 1 >"$work/token"
bin/spillway migrate
start serve bin/spillway serve --listen 127.0.0.1:0 --api-token-file "$work/tokens"
server=$started
until_true 30 "serve does not listen" listens serve
at=(--server "http://$(listening serve)" --token-file "$work/token")
spillway() {
  local command=$1
  shift
  bin/spillway "$command" "$@" "${at[@]}"
}

# --- Jobs without a worker: they wait, and Redis has their number ----------------

picture=$(find "$pictures" -name '*.jpg' -exec basename {} \; | sort | head -n 1)
all=$(find "$pictures" -type f \( -name '*.jpg' -o -name '*.png' \) | wc -l)
list=$(find "$pictures" -type f \( -name '*.jpg' -o -name '*.png' \) -exec basename {} \; | sort | sed 's/.*/"&"/' | paste -sd, -)
say "three jobs for $picture and one for all $all pictures are asked for; there is no worker yet"
for width in 300 600 1200; do
  spillway enqueue image.derive --input "$picture" --sizes "${width}x0" --format webp
done
bulk=$(spillway enqueue bulk.derive --param "inputs=[$list]" --sizes 320x0 --format webp --json | sed -n 's/^{"id":"\([0-9]*\)".*/\1/p')
spillway queues
lengths() { echo "LLEN queue:images $(redis LLEN queue:images), queue:bulk $(redis LLEN queue:bulk)"; }
right() { [ "$(redis LLEN queue:images)" = 3 ] && [ "$(redis LLEN queue:bulk)" = 1 ]; }
until_true 5 "the lists in Redis are not as long as the queues" right
lengths
redis FLUSHALL >/dev/null
echo "FLUSHALL: $(lengths)"
until_true $((2 * INTERVAL + 6)) "the lists in Redis were not repaired" right
echo "repaired: $(lengths)"

# --- Two workers -----------------------------------------------------------------

say "two workers start"
workers=''
for name in one two; do
  start "work-$name" bin/spillway work --worker-id "worker-$name" --job-drain-timeout 20s
  workers="$workers $started"
  until_true 30 "worker-$name does not register" working "work-$name"
done
spillway workers
spillway jobs watch "$bulk"
say "one more, waited for"
spillway enqueue image.derive --input "$picture" --sizes 300x0,1200x0 --format webp,jpeg --wait
spillway jobs list
[ "$(spillway jobs list --state succeeded --json | grep -c '"state": "succeeded"')" -eq 5 ] || fail "not all five jobs have succeeded"

# --- What is there now -------------------------------------------------------------

say "outputs"
made=$(find "$work/blobs" -type f -name '*.webp' | wc -l)
find "$work/blobs" -type f -exec ls -l {} + | awk -v root="$work/blobs/" '{ sub(root, "", $NF); if (NR <= 8) printf "%9d  %s\n", $5, $NF } END { print NR " files" }'
[ "$made" -ge "$all" ] || fail "$made pictures were made of $all"
empty() { [ "$(redis LLEN queue:images)" = 0 ] && [ "$(redis LLEN queue:bulk)" = 0 ]; }
until_true 10 "the lists in Redis are not empty" empty
lengths

say "all stop"
for pid in $workers $server; do
  stop "$pid" || fail "a process did not end well"
  forget "$pid"
done
sql spillway "SELECT id, status FROM workers ORDER BY id"
[ "$(sql spillway "SELECT count(*) FROM workers WHERE status = 'terminated'")" = 2 ] || fail "the workers have not said goodbye"
say "all was well"
