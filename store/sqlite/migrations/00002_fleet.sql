-- +goose Up

-- What a scheduler knows of a machine beyond its worker: NULL and 0 for workers
-- that no scheduler started. Money is in ten-thousandths of a cent.
ALTER TABLE workers ADD COLUMN zone TEXT NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN provisioned_at INTEGER;
ALTER TABLE workers ADD COLUMN launched_at INTEGER;
-- The worker said goodbye or fell silent, and its machine may still be there.
ALTER TABLE workers ADD COLUMN left_at INTEGER;
-- When the provider was first asked to end it.
ALTER TABLE workers ADD COLUMN terminate_at INTEGER;
ALTER TABLE workers ADD COLUMN accrued_until INTEGER;
ALTER TABLE workers ADD COLUMN keep_until INTEGER;
ALTER TABLE workers ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN cost_ceiling INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN granularity_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN max_rank INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN request TEXT;

-- The latest attempts of a queue: how long they took, how many failed, and what
-- they cost. Older attempts have no queue and are in no figure.
ALTER TABLE job_attempts ADD COLUMN queue TEXT NOT NULL DEFAULT '';
CREATE INDEX attempts_finished ON job_attempts (queue, finished_at) WHERE finished_at IS NOT NULL AND queue <> '';

-- Long jobs have a row of their own in the routing table; others cost nothing here.
CREATE INDEX jobs_long ON processing_jobs (queue, priority, checkpointable) WHERE ready = 1 AND estimated_seconds > 1800;

-- What was decided and why. The document is the whole decision; the columns are
-- what it is found by.
CREATE TABLE scaling_decisions (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT    NOT NULL UNIQUE,
    tick      TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT    NOT NULL,
    queue     TEXT    NOT NULL,
    worker_id TEXT    NOT NULL,
    document  TEXT    NOT NULL
) STRICT;
CREATE INDEX decisions_tick ON scaling_decisions (tick, seq);
CREATE INDEX decisions_kind ON scaling_decisions (kind, seq);
CREATE INDEX decisions_queue ON scaling_decisions (queue, seq);
CREATE INDEX decisions_worker ON scaling_decisions (worker_id, seq) WHERE worker_id <> '';
CREATE INDEX decisions_at ON scaling_decisions (kind, at);

-- Money. The same entry that comes again, because an answer was lost, is one.
CREATE TABLE spend_entries (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    at            INTEGER NOT NULL,
    worker_id     TEXT    NOT NULL,
    provider      TEXT    NOT NULL,
    instance_type TEXT    NOT NULL,
    zone          TEXT    NOT NULL,
    market        TEXT    NOT NULL,
    queue         TEXT    NOT NULL,
    kind          TEXT    NOT NULL CHECK (kind IN ('accrual', 'minimum', 'correction')),
    from_at       INTEGER NOT NULL,
    until_at      INTEGER NOT NULL CHECK (until_at >= from_at),
    amount        INTEGER NOT NULL,
    note          TEXT    NOT NULL
) STRICT;
CREATE INDEX spend_until ON spend_entries (until_at);
CREATE UNIQUE INDEX spend_once ON spend_entries (worker_id, at, kind, queue, from_at, until_at, note);

-- One row: whose machines are meant, what the next tick has to know, and the
-- daily limit that tripped.
CREATE TABLE scheduler_state (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    fleet_id TEXT    NOT NULL,
    memory   TEXT    NOT NULL DEFAULT '{}',
    latch    TEXT,
    ticked   INTEGER
) STRICT;
INSERT INTO scheduler_state (id, fleet_id) VALUES (1, 'fleet-' || lower(hex(randomblob(8))));

CREATE TABLE scheduler_requests (
    id       TEXT    PRIMARY KEY,
    at       INTEGER NOT NULL,
    document TEXT    NOT NULL
) STRICT;
