-- Written by `go test ./sql -update` from the migrated database: what the migrations add up to. DO NOT EDIT.

TABLE job_audit
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    at bigint NOT NULL
    actor text NOT NULL
    action text NOT NULL
    job_id bigint
    kind text
    queue text
    jobs bigint NOT NULL
    job_ids text
    detail text

TABLE job_changes
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    at bigint NOT NULL
    queue text NOT NULL
    kind text NOT NULL
    event text NOT NULL
    times bigint NOT NULL
    jobs bigint NOT NULL

TABLE job_counts
    queue text NOT NULL
    kind text NOT NULL
    status text NOT NULL
    jobs bigint NOT NULL

TABLE job_errors
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    job_id bigint NOT NULL
    attempt bigint NOT NULL
    worker_id bigint
    started_at bigint
    ended_at bigint NOT NULL
    cause text NOT NULL
    message text NOT NULL
    stack text NOT NULL DEFAULT ''::text

TABLE job_history
    step bigint NOT NULL
    start_at bigint NOT NULL
    queue text NOT NULL
    kind text NOT NULL
    event text NOT NULL
    bucket bigint NOT NULL
    times bigint NOT NULL

TABLE jobs
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    kind jobs_name NOT NULL
    payload jobs_json NOT NULL DEFAULT '{}'::text
    status jobs_status NOT NULL DEFAULT 'pending'::text
    attempt jobs_count NOT NULL DEFAULT 0
    created_at jobs_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint
    updated_at jobs_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint
    started_at jobs_time
    finished_at jobs_time
    priority jobs_priority NOT NULL DEFAULT 0
    run_after jobs_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint
    worker_id jobs_id
    lease_until jobs_time
    crashes jobs_count NOT NULL DEFAULT 0
    uncounted jobs_count NOT NULL DEFAULT 0
    cancel_requested_at jobs_time
    queue jobs_name NOT NULL DEFAULT 'default'::text
    max_attempts jobs_attempts NOT NULL DEFAULT 25
    timeout jobs_timeout NOT NULL DEFAULT 0
    last_error jobs_text
    unique_key jobs_key
    request_id jobs_key
    user_id jobs_key
    tags jobs_json
    metadata jobs_json
    progress jobs_json
    result jobs_json

TABLE moves
    direction text NOT NULL
    token text NOT NULL
    peer text NOT NULL
    started_at bigint NOT NULL

TABLE queues
    name text NOT NULL
    paused_at bigint
    updated_at bigint NOT NULL

TABLE sensitive_fields
    kind text NOT NULL
    path text NOT NULL
    marked_at bigint NOT NULL

TABLE workers
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    name text NOT NULL
    lock_key text NOT NULL
    host text NOT NULL
    pid bigint NOT NULL
    version text NOT NULL
    queues text NOT NULL
    kinds text NOT NULL
    started_at bigint NOT NULL
    heartbeat_at bigint NOT NULL
    lease_until bigint NOT NULL
    ended_at bigint
    end_reason text

CONSTRAINTS
job_audit job_audit_action_check: CHECK ((((length(action) >= 1) AND (length(action) <= 200)) AND (action !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_audit job_audit_actor_check: CHECK ((((length(actor) >= 1) AND (length(actor) <= 200)) AND (actor !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_audit job_audit_at_check: CHECK (((at >= 0) AND (at <= '253402300799999999'::bigint)))
job_audit job_audit_detail_check: CHECK (((detail IS NULL) OR (((detail)::json IS NOT NULL) AND (octet_length(detail) <= 1048576))))
job_audit job_audit_job_id_check: CHECK (((job_id >= 1) AND (job_id <= '9007199254740991'::bigint)))
job_audit job_audit_job_ids_check: CHECK (((job_ids IS NULL) OR (((job_ids)::json IS NOT NULL) AND (octet_length(job_ids) <= 1048576) AND (job_ids ~ '^\[([0-9]{1,19}(,[0-9]{1,19})*)?\]$'::text))))
job_audit job_audit_jobs_check: CHECK (((jobs >= 0) AND (jobs <= '1000000000000'::bigint)))
job_audit job_audit_kind_check: CHECK ((((length(kind) >= 1) AND (length(kind) <= 200)) AND (kind !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_audit job_audit_pkey: PRIMARY KEY (id)
job_audit job_audit_queue_check: CHECK ((((length(queue) >= 1) AND (length(queue) <= 200)) AND (queue !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_changes job_changes_at_check: CHECK (((at >= 0) AND (at <= '253402300799999999'::bigint)))
job_changes job_changes_event_check: CHECK ((((length(event) >= 1) AND (length(event) <= 200)) AND (event !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_changes job_changes_jobs_check: CHECK (((jobs >= '-1000000000000'::bigint) AND (jobs <= '1000000000000'::bigint)))
job_changes job_changes_kind_check: CHECK ((((length(kind) >= 1) AND (length(kind) <= 200)) AND (kind !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_changes job_changes_pkey: PRIMARY KEY (id)
job_changes job_changes_queue_check: CHECK ((((length(queue) >= 1) AND (length(queue) <= 200)) AND (queue !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_changes job_changes_times_check: CHECK (((times >= 0) AND (times <= '1000000000000'::bigint)))
job_counts job_counts_jobs_check: CHECK (((jobs >= '-1000000000000'::bigint) AND (jobs <= '1000000000000'::bigint)))
job_counts job_counts_kind_check: CHECK ((((length(kind) >= 1) AND (length(kind) <= 200)) AND (kind !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_counts job_counts_pkey: PRIMARY KEY (queue, kind, status)
job_counts job_counts_queue_check: CHECK ((((length(queue) >= 1) AND (length(queue) <= 200)) AND (queue !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_counts job_counts_status_check: CHECK ((status = ANY (ARRAY['done'::text, 'failed'::text, 'cancelled'::text])))
job_errors job_errors_attempt_check: CHECK (((attempt >= 0) AND (attempt <= 1000000000)))
job_errors job_errors_cause_check: CHECK ((cause = ANY (ARRAY['error'::text, 'panic'::text, 'timeout'::text, 'crash'::text, 'lost'::text])))
job_errors job_errors_ended_at_check: CHECK (((ended_at >= 0) AND (ended_at <= '253402300799999999'::bigint)))
job_errors job_errors_job_id_check: CHECK (((job_id >= 1) AND (job_id <= '9007199254740991'::bigint)))
job_errors job_errors_message_check: CHECK ((octet_length(message) <= 1048576))
job_errors job_errors_pkey: PRIMARY KEY (id)
job_errors job_errors_stack_check: CHECK ((octet_length(stack) <= 1048576))
job_errors job_errors_started_at_check: CHECK (((started_at >= 0) AND (started_at <= '253402300799999999'::bigint)))
job_errors job_errors_worker_id_check: CHECK (((worker_id >= 1) AND (worker_id <= '9007199254740991'::bigint)))
job_history job_history_bucket_check: CHECK (((bucket >= 0) AND (bucket <= 63)))
job_history job_history_event_check: CHECK ((((length(event) >= 1) AND (length(event) <= 200)) AND (event !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_history job_history_kind_check: CHECK ((((length(kind) >= 0) AND (length(kind) <= 200)) AND (kind !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_history job_history_pkey: PRIMARY KEY (step, start_at, queue, kind, event, bucket)
job_history job_history_queue_check: CHECK ((((length(queue) >= 0) AND (length(queue) <= 200)) AND (queue !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
job_history job_history_start_at_check: CHECK (((start_at >= 0) AND (start_at <= '253402300799999999'::bigint)))
job_history job_history_step_check: CHECK (((step >= 0) AND (step <= '253402300799999999'::bigint)))
job_history job_history_times_check: CHECK (((times >= 0) AND (times <= '1000000000000'::bigint)))
jobs jobs_pkey: PRIMARY KEY (id)
moves moves_direction_check: CHECK ((direction = ANY (ARRAY['in'::text, 'out'::text])))
moves moves_peer_check: CHECK ((octet_length(peer) <= 1048576))
moves moves_pkey: PRIMARY KEY (direction)
moves moves_started_at_check: CHECK (((started_at >= 0) AND (started_at <= '253402300799999999'::bigint)))
moves moves_token_check: CHECK ((octet_length(token) <= 1048576))
queues queues_name_check: CHECK ((((length(name) >= 1) AND (length(name) <= 200)) AND (name !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
queues queues_paused_at_check: CHECK (((paused_at >= 0) AND (paused_at <= '253402300799999999'::bigint)))
queues queues_pkey: PRIMARY KEY (name)
queues queues_updated_at_check: CHECK (((updated_at >= 0) AND (updated_at <= '253402300799999999'::bigint)))
sensitive_fields sensitive_fields_kind_check: CHECK ((((length(kind) >= 1) AND (length(kind) <= 200)) AND (kind !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
sensitive_fields sensitive_fields_marked_at_check: CHECK (((marked_at >= 0) AND (marked_at <= '253402300799999999'::bigint)))
sensitive_fields sensitive_fields_path_check: CHECK ((((length(path) >= 1) AND (length(path) <= 1000)) AND (path !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
sensitive_fields sensitive_fields_pkey: PRIMARY KEY (kind, path)
workers workers_end_reason_check: CHECK ((end_reason = ANY (ARRAY['stopped'::text, 'crash'::text, 'lost'::text])))
workers workers_ended_at_check: CHECK (((ended_at >= 0) AND (ended_at <= '253402300799999999'::bigint)))
workers workers_heartbeat_at_check: CHECK (((heartbeat_at >= 0) AND (heartbeat_at <= '253402300799999999'::bigint)))
workers workers_host_check: CHECK ((octet_length(host) <= 1048576))
workers workers_kinds_check: CHECK ((((kinds)::json IS NOT NULL) AND (octet_length(kinds) <= 1048576) AND (json_typeof((kinds)::json) = 'array'::text)))
workers workers_lease_until_check: CHECK (((lease_until >= 0) AND (lease_until <= '253402300799999999'::bigint)))
workers workers_lock_key_check: CHECK (((length(lock_key) <= 200) AND (lock_key !~ '[^0-9a-z]'::text)))
workers workers_name_check: CHECK ((((length(name) >= 1) AND (length(name) <= 200)) AND (name !~ '[\u0001-\u001f\u007f-\u009f]'::text)))
workers workers_pid_check: CHECK (((pid >= 0) AND (pid <= '4294967295'::bigint)))
workers workers_pkey: PRIMARY KEY (id)
workers workers_queues_check: CHECK ((((queues)::json IS NOT NULL) AND (octet_length(queues) <= 1048576) AND (json_typeof((queues)::json) = 'object'::text)))
workers workers_started_at_check: CHECK (((started_at >= 0) AND (started_at <= '253402300799999999'::bigint)))
workers workers_version_check: CHECK ((octet_length(version) <= 1048576))

INDEXES
CREATE INDEX job_audit_at ON job_audit USING btree (at)
CREATE INDEX job_audit_job ON job_audit USING btree (job_id) WHERE (job_id IS NOT NULL)
CREATE INDEX job_audit_many ON job_audit USING btree (id) WHERE (job_ids IS NOT NULL)
CREATE UNIQUE INDEX job_audit_pkey ON job_audit USING btree (id)
CREATE UNIQUE INDEX job_changes_pkey ON job_changes USING btree (id)
CREATE UNIQUE INDEX job_counts_pkey ON job_counts USING btree (queue, kind, status)
CREATE INDEX job_errors_job ON job_errors USING btree (job_id, attempt)
CREATE UNIQUE INDEX job_errors_pkey ON job_errors USING btree (id)
CREATE UNIQUE INDEX job_history_pkey ON job_history USING btree (step, start_at, queue, kind, event, bucket)
CREATE INDEX jobs_claim ON jobs USING btree (queue, kind, priority DESC, run_after, id) WHERE ((status)::text = 'pending'::text)
CREATE INDEX jobs_due ON jobs USING btree (run_after, id) WHERE ((status)::text = 'scheduled'::text)
CREATE INDEX jobs_ended ON jobs USING btree (status, id) WHERE (((status)::text = 'failed'::text) OR ((status)::text = 'cancelled'::text))
CREATE INDEX jobs_failed ON jobs USING btree (status, finished_at) WHERE (((status)::text = 'failed'::text) OR ((status)::text = 'cancelled'::text))
CREATE INDEX jobs_failed_kind ON jobs USING btree (kind, finished_at) WHERE ((status)::text = 'failed'::text)
CREATE UNIQUE INDEX jobs_pkey ON jobs USING btree (id)
CREATE UNIQUE INDEX jobs_request ON jobs USING btree (kind, request_id) WHERE (request_id IS NOT NULL)
CREATE INDEX jobs_running ON jobs USING btree (worker_id) WHERE ((status)::text = 'running'::text)
CREATE INDEX jobs_scheduled ON jobs USING btree (queue, kind, run_after) WHERE ((status)::text = 'scheduled'::text)
CREATE UNIQUE INDEX jobs_unique ON jobs USING btree (kind, unique_key) WHERE ((unique_key IS NOT NULL) AND ((status)::text = ANY (ARRAY['scheduled'::text, 'pending'::text, 'running'::text])))
CREATE UNIQUE INDEX moves_pkey ON moves USING btree (direction)
CREATE UNIQUE INDEX queues_pkey ON queues USING btree (name)
CREATE UNIQUE INDEX sensitive_fields_pkey ON sensitive_fields USING btree (kind, path)
CREATE INDEX workers_ended ON workers USING btree (ended_at) WHERE (ended_at IS NOT NULL)
CREATE UNIQUE INDEX workers_live ON workers USING btree (name) WHERE (ended_at IS NULL)
CREATE UNIQUE INDEX workers_pkey ON workers USING btree (id)

TRIGGERS
CREATE TRIGGER jobs_delete_counts AFTER DELETE ON jobs REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION jobs_delete_counts()
CREATE TRIGGER jobs_delete_errors AFTER DELETE ON jobs REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION jobs_delete_errors()
CREATE TRIGGER jobs_not_due BEFORE INSERT ON jobs FOR EACH ROW WHEN ((((new.status)::text = 'pending'::text) AND ((new.run_after)::bigint > (new.created_at)::bigint))) EXECUTE FUNCTION jobs_not_due()
CREATE TRIGGER jobs_truncate_counts AFTER TRUNCATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION jobs_delete_counts()
CREATE TRIGGER jobs_truncate_errors AFTER TRUNCATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION jobs_delete_errors()

FUNCTIONS
CREATE OR REPLACE FUNCTION jobs_delete_counts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('DELETE FROM %I.job_counts', TG_TABLE_SCHEMA);
        EXECUTE format('UPDATE %I.job_changes SET jobs = 0 WHERE jobs <> 0', TG_TABLE_SCHEMA);
    ELSE
        EXECUTE format('INSERT INTO %I.job_changes (at, queue, kind, event, times, jobs) '
            'SELECT 0, d.queue, d.kind, d.status, 0, -COUNT(*) FROM deleted AS d '
            'WHERE d.status IN (''done'', ''failed'', ''cancelled'') GROUP BY d.queue, d.kind, d.status', TG_TABLE_SCHEMA);
    END IF;
    RETURN NULL;
END;
$function$

CREATE OR REPLACE FUNCTION jobs_delete_errors()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('DELETE FROM %I.job_errors', TG_TABLE_SCHEMA);
    ELSE
        EXECUTE format('DELETE FROM %I.job_errors AS e USING deleted AS d WHERE e.job_id = d.id', TG_TABLE_SCHEMA);
    END IF;
    RETURN NULL;
END;
$function$

CREATE OR REPLACE FUNCTION jobs_not_due()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF NEW.run_after > CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) THEN
        NEW.status := 'scheduled';
    END IF;
    RETURN NEW;
END;
$function$


VIEWS
jobs_readable AS SELECT id,
    queue,
    kind,
    payload,
    status,
    priority,
    (to_char((to_timestamp((((run_after)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char(((run_after)::bigint % (1000000)::bigint), '"."FM000000"Z"'::text)) AS run_after,
    attempt,
    uncounted,
    max_attempts,
    crashes,
    worker_id,
    (to_char((to_timestamp((((lease_until)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char(((lease_until)::bigint % (1000000)::bigint), '"."FM000000"Z"'::text)) AS lease_until,
    timeout,
    unique_key,
    request_id,
    user_id,
    tags,
    metadata,
    progress,
    result,
    last_error,
    (to_char((to_timestamp((((created_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char(((created_at)::bigint % (1000000)::bigint), '"."FM000000"Z"'::text)) AS created_at,
    (to_char((to_timestamp((((started_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char(((started_at)::bigint % (1000000)::bigint), '"."FM000000"Z"'::text)) AS started_at,
    (to_char((to_timestamp((((finished_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char(((finished_at)::bigint % (1000000)::bigint), '"."FM000000"Z"'::text)) AS finished_at,
    (to_char((to_timestamp((((updated_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char(((updated_at)::bigint % (1000000)::bigint), '"."FM000000"Z"'::text)) AS updated_at,
    (to_char((to_timestamp((((cancel_requested_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char(((cancel_requested_at)::bigint % (1000000)::bigint), '"."FM000000"Z"'::text)) AS cancel_requested_at
   FROM jobs;
