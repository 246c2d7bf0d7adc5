-- +goose Up

-- What a scheduler knows of a machine beyond its worker: null and zero for
-- workers that no scheduler started. Money is in ten-thousandths of a cent.
ALTER TABLE workers
    ADD COLUMN zone           text NOT NULL DEFAULT '',
    ADD COLUMN provisioned_at timestamptz,
    ADD COLUMN launched_at    timestamptz,
    ADD COLUMN left_at        timestamptz, -- the worker said goodbye or fell silent, and its machine may still be there
    ADD COLUMN terminate_at   timestamptz, -- when the provider was first asked to end it
    ADD COLUMN accrued_until  timestamptz,
    ADD COLUMN keep_until     timestamptz,
    ADD COLUMN origin         text NOT NULL DEFAULT '',
    ADD COLUMN cost_ceiling   bigint NOT NULL DEFAULT 0,
    ADD COLUMN granularity    interval NOT NULL DEFAULT '0',
    ADD COLUMN max_rank       smallint NOT NULL DEFAULT 0,
    ADD COLUMN request        json;

-- The latest attempts of a queue: how long they took, how many failed, and what
-- they cost. Older attempts have no queue and are in no figure.
ALTER TABLE job_attempts ADD COLUMN queue text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX job_attempts_finished ON job_attempts (queue, finished_at) WHERE finished_at IS NOT NULL AND queue <> '';

-- Long jobs have a row of their own in the routing table; others cost nothing here.
CREATE INDEX processing_jobs_long ON processing_jobs (queue, priority, checkpointable) WHERE ready AND estimated_seconds > 1800;

-- What was decided and why. The document is the whole decision; the columns are
-- what it is found by.
CREATE TABLE scaling_decisions (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id        text COLLATE "C" NOT NULL UNIQUE,
    tick      text COLLATE "C" NOT NULL,
    at        timestamptz NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    queue     text COLLATE "C" NOT NULL,
    worker_id text COLLATE "C" NOT NULL,
    document  json NOT NULL
);
CREATE INDEX scaling_decisions_tick ON scaling_decisions (tick, seq);
CREATE INDEX scaling_decisions_kind ON scaling_decisions (kind, seq);
CREATE INDEX scaling_decisions_queue ON scaling_decisions (queue, seq);
CREATE INDEX scaling_decisions_worker ON scaling_decisions (worker_id, seq) WHERE worker_id <> '';
CREATE INDEX scaling_decisions_at ON scaling_decisions (kind, at);

-- Money. The same entry that comes again, because an answer was lost, is one.
CREATE TABLE spend_entries (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL,
    worker_id     text COLLATE "C" NOT NULL,
    provider      text COLLATE "C" NOT NULL,
    instance_type text NOT NULL,
    zone          text NOT NULL,
    market        text NOT NULL,
    queue         text COLLATE "C" NOT NULL,
    kind          text COLLATE "C" NOT NULL CHECK (kind IN ('accrual', 'minimum', 'correction')),
    from_at       timestamptz NOT NULL,
    until_at      timestamptz NOT NULL CHECK (until_at >= from_at),
    amount        bigint NOT NULL,
    note          text COLLATE "C" NOT NULL
);
CREATE INDEX spend_entries_until ON spend_entries (until_at);
CREATE UNIQUE INDEX spend_entries_once ON spend_entries (worker_id, at, kind, queue, from_at, until_at, note);

-- One row: whose machines are meant, what the next tick has to know, and the
-- daily limit that tripped.
CREATE TABLE scheduler_state (
    id       smallint PRIMARY KEY CHECK (id = 1),
    fleet_id text NOT NULL,
    memory   json NOT NULL DEFAULT '{}',
    latch    json,
    ticked   timestamptz
);
INSERT INTO scheduler_state (id, fleet_id) VALUES (1, 'fleet-' || left(replace(gen_random_uuid()::text, '-', ''), 16));

CREATE TABLE scheduler_requests (
    id       text COLLATE "C" PRIMARY KEY,
    at       timestamptz NOT NULL,
    document json NOT NULL
);
