-- +goose Up

-- The numbers of jobs. They are drawn before rows are inserted, so that a batch
-- keeps its order in them although its rows go in by the order of their keys.
CREATE SEQUENCE processing_jobs_id AS bigint;

-- The table is hot: a job's row is written at least three times. Room on each
-- page keeps heartbeats off the indexes, and autovacuum comes early, because
-- dead entries at the head of an index are what slows a claim down.
CREATE TABLE processing_jobs (
    id                bigint PRIMARY KEY DEFAULT nextval('processing_jobs_id'),
    type              text NOT NULL,
    queue             text COLLATE "C" NOT NULL,
    priority          smallint NOT NULL CHECK (priority BETWEEN 1 AND 10),
    rank              smallint NOT NULL CHECK (rank BETWEEN 1 AND 10),
    tenant            text COLLATE "C" NOT NULL DEFAULT '',
    fair_tag          double precision NOT NULL,
    input             text NOT NULL DEFAULT '',
    params            json NOT NULL DEFAULT '{}',
    idempotency_key   text COLLATE "C",
    unique_key        text COLLATE "C",
    max_attempts      integer NOT NULL,
    wait_limit        interval NOT NULL DEFAULT '0',
    work_limit        interval NOT NULL,
    estimated_seconds double precision NOT NULL DEFAULT 1,
    checkpointable    boolean NOT NULL DEFAULT false,
    webhook           text NOT NULL DEFAULT '',
    state             text NOT NULL DEFAULT 'queued'
                      CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    -- ready is queued and eligible: what claims, depths and ages look at.
    ready             boolean NOT NULL CHECK (NOT ready OR state = 'queued'),
    created_at        timestamptz NOT NULL,
    eligible_at       timestamptz NOT NULL,
    -- give_up_at is eligible_at and wait_limit; null when it waits for ever.
    give_up_at        timestamptz,
    started_at        timestamptz,
    finished_at       timestamptz,
    attempts          integer NOT NULL DEFAULT 0,
    deliveries        integer NOT NULL DEFAULT 0,
    lost              integer NOT NULL DEFAULT 0,
    cancel_asked      boolean NOT NULL DEFAULT false,
    worker_id         text NOT NULL DEFAULT '',
    lease_token       text,
    lease_until       timestamptz,
    progress_done     bigint NOT NULL DEFAULT 0,
    progress_total    bigint NOT NULL DEFAULT 0,
    progress_note     text NOT NULL DEFAULT '',
    result            json,
    code              text NOT NULL DEFAULT '',
    reason            text NOT NULL DEFAULT '',
    version           bigint NOT NULL DEFAULT 1
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_analyze_threshold = 1000
);

-- Over ready jobs: the order of claims; a tenant's last tag; the oldest of each
-- rank and what ageing moves; what has waited too long. The conditions that are
-- always true keep the planner, before it has seen the table's statistics, from
-- taking one of the others for a claim and sorting what it reads.
CREATE INDEX processing_jobs_claim ON processing_jobs (queue, rank, fair_tag, id) WHERE ready;
CREATE INDEX processing_jobs_suspect ON processing_jobs (queue) WHERE ready AND lost >= 2;
CREATE INDEX processing_jobs_tenant ON processing_jobs (queue, rank, tenant, fair_tag) WHERE ready AND tenant >= '';
CREATE INDEX processing_jobs_waiting ON processing_jobs (queue, rank, priority, eligible_at) WHERE ready AND priority > 0;
CREATE INDEX processing_jobs_give_up ON processing_jobs (give_up_at) WHERE ready AND give_up_at IS NOT NULL;

-- Delayed jobs, running ones, running ones that are to stop, finished ones, and
-- pages of queued or of failed ones, which lie below a million that succeeded.
-- There is none on lease_until: a heartbeat would have to write it.
CREATE INDEX processing_jobs_delayed ON processing_jobs (queue, eligible_at) WHERE state = 'queued' AND NOT ready;
CREATE INDEX processing_jobs_running ON processing_jobs (queue, id) WHERE state = 'running';
CREATE INDEX processing_jobs_stopping ON processing_jobs (worker_id) WHERE state = 'running' AND cancel_asked;
CREATE INDEX processing_jobs_finished ON processing_jobs (state, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX processing_jobs_queued ON processing_jobs (id) WHERE state = 'queued';
CREATE INDEX processing_jobs_unhappy ON processing_jobs (state, id) WHERE state IN ('failed', 'cancelled');

CREATE UNIQUE INDEX processing_jobs_idempotency ON processing_jobs (idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX processing_jobs_unique ON processing_jobs (unique_key)
    WHERE unique_key IS NOT NULL AND state IN ('queued', 'running');

-- No foreign keys: each would lock the job's row once more for every row that
-- is written beside it. Whatever deletes a job deletes these with it.
CREATE TABLE job_attempts (
    job_id      bigint NOT NULL,
    number      integer NOT NULL,
    worker_id   text NOT NULL,
    status      text NOT NULL
                CHECK (status IN ('running', 'succeeded', 'failed', 'cancelled', 'released', 'lost')),
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    code        text NOT NULL DEFAULT '',
    reason      text NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, number)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE job_checkpoints (
    job_id     bigint NOT NULL,
    key        text COLLATE "C" NOT NULL,
    value      json NOT NULL,
    number     integer NOT NULL,
    worker_id  text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, key)
);

-- The outbox of notices. A row with done_at was sent, or given up with a failure.
CREATE TABLE job_webhooks (
    job_id   bigint PRIMARY KEY,
    url      text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    due_at   timestamptz NOT NULL,
    done_at  timestamptz,
    failure  text NOT NULL DEFAULT ''
);
CREATE INDEX job_webhooks_due ON job_webhooks (due_at) WHERE done_at IS NULL;

CREATE TABLE workers (
    id                    text PRIMARY KEY,
    hostname              text NOT NULL DEFAULT '',
    provider              text NOT NULL DEFAULT 'vps',
    region                text NOT NULL DEFAULT '',
    instance_id           text NOT NULL DEFAULT '',
    instance_type         text NOT NULL DEFAULT '',
    market                text NOT NULL CHECK (market IN ('vps', 'on_demand', 'spot')),
    queues                text[] NOT NULL DEFAULT '{}',
    slots                 integer NOT NULL DEFAULT 0,
    version               text NOT NULL DEFAULT '',
    cost_per_hour_cents   numeric(18, 4) NOT NULL DEFAULT 0,
    status                text NOT NULL
                          CHECK (status IN ('provisioning', 'active', 'draining', 'terminated')),
    current_jobs          integer NOT NULL DEFAULT 0,
    registered_at         timestamptz NOT NULL,
    last_heartbeat        timestamptz,
    last_job_completed_at timestamptz,
    drain_deadline        timestamptz,
    terminated_at         timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX workers_terminated ON workers (terminated_at) WHERE status = 'terminated';

CREATE TABLE worker_metrics (
    worker_id    text NOT NULL,
    at           timestamptz NOT NULL,
    cpu_percent  double precision NOT NULL,
    memory_bytes bigint NOT NULL,
    memory_limit bigint NOT NULL,
    jobs_running integer NOT NULL
);
CREATE INDEX worker_metrics_latest ON worker_metrics (worker_id, at);
CREATE INDEX worker_metrics_at ON worker_metrics (at);
