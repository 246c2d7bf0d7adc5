-- Times are milliseconds since 1970 in UTC by the database's own clock; NULL is
-- "never". Booleans are 0 and 1. Every index costs each job twice, so there are
-- only those that keep a query from reading more rows than it answers.

-- +goose Up
CREATE TABLE processing_jobs (
    id                INTEGER PRIMARY KEY AUTOINCREMENT, -- never given out twice, also after pruning
    type              TEXT    NOT NULL,
    queue             TEXT    NOT NULL,
    priority          INTEGER NOT NULL CHECK (priority BETWEEN 1 AND 10),
    rank              INTEGER NOT NULL CHECK (rank BETWEEN 1 AND 10),
    fair_tag          REAL    NOT NULL DEFAULT 0,
    tenant            TEXT    NOT NULL DEFAULT '',
    state             TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    ready             INTEGER NOT NULL CHECK (ready IN (0, 1)),
    version           INTEGER NOT NULL DEFAULT 1,
    created_at        INTEGER NOT NULL,
    eligible_at       INTEGER NOT NULL,
    started_at        INTEGER,
    finished_at       INTEGER,
    attempts          INTEGER NOT NULL DEFAULT 0,
    max_attempts      INTEGER NOT NULL,
    deliveries        INTEGER NOT NULL DEFAULT 0,
    lost_leases       INTEGER NOT NULL DEFAULT 0,
    cancel_asked      INTEGER NOT NULL DEFAULT 0,
    cancel_reason     TEXT    NOT NULL DEFAULT '',
    worker_id         TEXT    NOT NULL DEFAULT '',
    lease_token       TEXT,
    lease_until       INTEGER,
    progress_done     INTEGER NOT NULL DEFAULT 0,
    progress_total    INTEGER NOT NULL DEFAULT 0,
    progress_note     TEXT    NOT NULL DEFAULT '',
    wait_limit_ms     INTEGER NOT NULL DEFAULT 0,
    work_limit_ms     INTEGER NOT NULL,
    estimated_seconds REAL    NOT NULL,
    checkpointable    INTEGER NOT NULL DEFAULT 0,
    idempotency_key   TEXT,
    unique_key        TEXT,
    code              TEXT    NOT NULL DEFAULT '',
    reason            TEXT    NOT NULL DEFAULT '',
    webhook           TEXT    NOT NULL DEFAULT '',
    input             TEXT    NOT NULL DEFAULT '',
    params            TEXT, -- NULL: they are long, and in job_params
    result            TEXT,
    CHECK (ready = 0 OR state = 'queued')
) STRICT;

-- Claims: the head of a queue is the first entry.
CREATE INDEX jobs_ready ON processing_jobs (queue, rank, fair_tag, id) WHERE ready = 1;
-- Jobs that have to run alone: hardly ever one, and asked for each second.
CREATE INDEX jobs_suspect ON processing_jobs (queue) WHERE ready = 1 AND lost_leases >= 2;
-- Fairness: the last tag of one tenant.
CREATE INDEX jobs_tenant_tag ON processing_jobs (queue, rank, tenant, fair_tag) WHERE ready = 1;
-- The oldest of each priority and rank, for figures and for ageing.
CREATE INDEX jobs_age ON processing_jobs (queue, priority, rank, eligible_at) WHERE ready = 1;
-- Who can wait no longer than its limit; jobs without one cost nothing.
CREATE INDEX jobs_wait ON processing_jobs (eligible_at + wait_limit_ms) WHERE ready = 1 AND wait_limit_ms > 0;
CREATE INDEX jobs_delayed ON processing_jobs (queue, eligible_at) WHERE state = 'queued' AND ready = 0;
CREATE INDEX jobs_running ON processing_jobs (queue, id) WHERE state = 'running';
-- Almost always empty: asked once a second by every worker.
CREATE INDEX jobs_cancelling ON processing_jobs (worker_id, id) WHERE state = 'running' AND cancel_asked = 1;
-- Pruning, and lists of what is not the common case.
CREATE INDEX jobs_finished ON processing_jobs (state, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_queued ON processing_jobs (id) WHERE state = 'queued';
CREATE INDEX jobs_dead ON processing_jobs (state, id) WHERE state IN ('failed', 'cancelled');
CREATE INDEX jobs_tenant ON processing_jobs (tenant, id) WHERE tenant <> '';
CREATE UNIQUE INDEX jobs_idempotency ON processing_jobs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX jobs_unique ON processing_jobs (unique_key)
    WHERE unique_key IS NOT NULL AND state IN ('queued', 'running');

-- Long params stand apart, because SQLite writes a changed row anew as a whole,
-- and a running job's row changes with every report of its progress.
CREATE TABLE job_params (
    job_id INTEGER PRIMARY KEY,
    params TEXT NOT NULL
) STRICT;

CREATE TABLE job_attempts (
    job_id      INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    worker_id   TEXT    NOT NULL,
    status      TEXT    NOT NULL
        CHECK (status IN ('running', 'succeeded', 'failed', 'cancelled', 'released', 'lost')),
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    code        TEXT    NOT NULL DEFAULT '',
    reason      TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_checkpoints (
    job_id     INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    worker_id  TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
    id                    TEXT    PRIMARY KEY,
    hostname              TEXT    NOT NULL DEFAULT '',
    provider              TEXT    NOT NULL DEFAULT 'vps',
    region                TEXT    NOT NULL DEFAULT '',
    instance_id           TEXT    NOT NULL DEFAULT '',
    instance_type         TEXT    NOT NULL DEFAULT '',
    market                TEXT    NOT NULL DEFAULT 'vps' CHECK (market IN ('vps', 'on_demand', 'spot')),
    queues                TEXT    NOT NULL DEFAULT '[]', -- a JSON array
    slots                 INTEGER NOT NULL DEFAULT 0,
    version               TEXT    NOT NULL DEFAULT '',
    cost_per_hour_cents   REAL    NOT NULL DEFAULT 0, -- with four decimals
    status                TEXT    NOT NULL CHECK (status IN ('provisioning', 'active', 'draining', 'terminated')),
    current_jobs          INTEGER NOT NULL DEFAULT 0,
    registered_at         INTEGER NOT NULL,
    last_heartbeat        INTEGER,
    last_job_completed_at INTEGER,
    drain_deadline        INTEGER,
    terminated_at         INTEGER
) STRICT;
CREATE INDEX workers_here ON workers (registered_at) WHERE terminated_at IS NULL;
CREATE INDEX workers_gone ON workers (terminated_at) WHERE terminated_at IS NOT NULL;

CREATE TABLE worker_metrics (
    worker_id    TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    cpu_percent  REAL    NOT NULL,
    memory_bytes INTEGER NOT NULL,
    memory_limit INTEGER NOT NULL,
    jobs_running INTEGER NOT NULL,
    PRIMARY KEY (worker_id, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX worker_metrics_old ON worker_metrics (at);

-- The outbox of notices. A row is put down by the transaction that ends the job,
-- goes when it was sent, and stays with its failure and no due_at when it was
-- given up.
CREATE TABLE job_webhooks (
    job_id   INTEGER PRIMARY KEY,
    url      TEXT    NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at   INTEGER,
    failure  TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX job_webhooks_due ON job_webhooks (due_at) WHERE due_at IS NOT NULL;
