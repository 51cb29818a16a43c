-- Written by `go test ./sql -update` from the migrated database: what the migrations add up to. DO NOT EDIT.

TABLE sqluice_declarations
    id text NOT NULL
    subject sqluice_name NOT NULL
    name sqluice_name NOT NULL
    body sqluice_json NOT NULL DEFAULT '{}'::text
    ordinal sqluice_total NOT NULL
    in_force bigint NOT NULL DEFAULT 0
    declared_at sqluice_time NOT NULL
    seen_at sqluice_time NOT NULL

TABLE sqluice_job_audit
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    at sqluice_time NOT NULL
    actor sqluice_name NOT NULL
    action sqluice_name NOT NULL
    job_id sqluice_id
    kind sqluice_name
    queue sqluice_name
    jobs sqluice_total NOT NULL
    job_ids sqluice_json
    detail sqluice_json

TABLE sqluice_job_changes
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    at sqluice_time NOT NULL
    queue text NOT NULL
    kind text NOT NULL
    event text NOT NULL
    times sqluice_total NOT NULL
    jobs sqluice_sum NOT NULL

TABLE sqluice_job_counts
    queue text NOT NULL
    kind text NOT NULL
    status text NOT NULL
    jobs sqluice_sum NOT NULL

TABLE sqluice_job_errors
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    job_id sqluice_id NOT NULL
    attempt sqluice_count NOT NULL
    worker_id sqluice_id
    started_at sqluice_time
    ended_at sqluice_time NOT NULL
    cause text NOT NULL
    message sqluice_text NOT NULL
    stack sqluice_text NOT NULL DEFAULT ''::text

TABLE sqluice_job_history
    step sqluice_total NOT NULL
    start_at sqluice_time NOT NULL
    queue text NOT NULL
    kind text NOT NULL
    event text NOT NULL
    bucket sqluice_bucket NOT NULL
    times sqluice_total NOT NULL

TABLE sqluice_jobs
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    queue sqluice_name NOT NULL DEFAULT 'default'::text
    kind sqluice_name NOT NULL
    payload sqluice_json NOT NULL DEFAULT '{}'::text
    max_attempts sqluice_attempts NOT NULL DEFAULT 0
    timeout sqluice_timeout NOT NULL DEFAULT 0
    status sqluice_status NOT NULL DEFAULT 'scheduled'::text
    priority sqluice_priority NOT NULL DEFAULT 0
    run_after sqluice_run_after NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint
    start_by bigint
    successor_at bigint
    attempt sqluice_count NOT NULL DEFAULT 0
    uncounted sqluice_count NOT NULL DEFAULT 0
    crashes sqluice_count NOT NULL DEFAULT 0
    worker_id sqluice_id
    lease_until sqluice_time
    cancel_requested_at sqluice_time
    unique_key sqluice_key
    request_id sqluice_key
    user_id sqluice_key
    tags sqluice_json
    metadata sqluice_json
    progress sqluice_json
    result sqluice_json
    last_error sqluice_text
    created_at sqluice_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint
    started_at sqluice_time
    finished_at sqluice_time
    updated_at sqluice_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint
    prefetched bigint
    limit_key sqluice_limit_key

TABLE sqluice_lanes
    kind sqluice_name NOT NULL
    limit_key sqluice_limit_key NOT NULL
    queue sqluice_name NOT NULL
    priority sqluice_priority NOT NULL
    ready_at sqluice_time
    held bigint NOT NULL DEFAULT 0

TABLE sqluice_limit_keys
    scope text NOT NULL
    name sqluice_name NOT NULL
    limit_key sqluice_limit_key NOT NULL
    paid_until sqluice_time NOT NULL DEFAULT 0
    closed_until sqluice_time NOT NULL DEFAULT 0
    passed_id bigint NOT NULL DEFAULT 0

TABLE sqluice_limits
    scope text NOT NULL
    name sqluice_name NOT NULL
    limit_key sqluice_limit_key NOT NULL
    running sqluice_count NOT NULL DEFAULT 0
    starts bigint NOT NULL DEFAULT 0
    period bigint NOT NULL DEFAULT 0
    burst bigint NOT NULL DEFAULT 0
    weight bigint NOT NULL DEFAULT 0
    depth sqluice_count NOT NULL DEFAULT 0
    on_full text NOT NULL DEFAULT ''::text
    ordered text NOT NULL DEFAULT ''::text
    set_at sqluice_time NOT NULL

TABLE sqluice_moves
    direction text NOT NULL
    token sqluice_text NOT NULL
    peer sqluice_text NOT NULL
    started_at sqluice_time NOT NULL

TABLE sqluice_pauses
    queue sqluice_name NOT NULL DEFAULT 'default'::text
    kind text NOT NULL DEFAULT ''::text
    paused_at sqluice_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint
    paused_until sqluice_time
    paused_by sqluice_name
    reason text
    updated_at sqluice_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint

TABLE sqluice_refusals
    job_id sqluice_id NOT NULL
    action text NOT NULL
    times sqluice_count NOT NULL
    message sqluice_text NOT NULL
    first_at sqluice_time NOT NULL
    last_at sqluice_time NOT NULL
    again_at sqluice_time NOT NULL

TABLE sqluice_retentions
    queue text NOT NULL DEFAULT ''::text
    kind text NOT NULL DEFAULT ''::text
    status text NOT NULL DEFAULT 'done'::text
    keep bigint
    origin text NOT NULL DEFAULT 'client'::text
    updated_by sqluice_name
    updated_at sqluice_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint

TABLE sqluice_schedule_ticks
    schedule sqluice_name NOT NULL
    tick sqluice_time NOT NULL
    outcome text NOT NULL
    since sqluice_time
    job_id sqluice_id
    replaced_id sqluice_id
    at sqluice_time NOT NULL

TABLE sqluice_schedules
    name sqluice_name NOT NULL
    kind sqluice_name NOT NULL
    queue sqluice_name NOT NULL DEFAULT 'default'::text
    payload sqluice_json NOT NULL DEFAULT '{}'::text
    options sqluice_json NOT NULL DEFAULT '{}'::text
    spec sqluice_key NOT NULL
    zone sqluice_name NOT NULL DEFAULT 'UTC'::text
    catch_up text NOT NULL DEFAULT 'latest'::text
    overlap text NOT NULL DEFAULT 'allow'::text
    origin text NOT NULL DEFAULT 'client'::text
    start_at sqluice_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint
    next_at sqluice_time NOT NULL DEFAULT 0
    owed_at sqluice_time
    last_at sqluice_time
    last_job_id sqluice_id
    paused_at sqluice_time
    fault sqluice_text
    version sqluice_total NOT NULL DEFAULT 0
    created_at sqluice_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint
    updated_at sqluice_time NOT NULL DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint

TABLE sqluice_schema_versions
    version bigint NOT NULL
    runs_from bigint NOT NULL

TABLE sqluice_sensitive_fields
    kind sqluice_name NOT NULL
    path sqluice_key NOT NULL
    marked_at sqluice_time NOT NULL

TABLE sqluice_unique_keys
    kind sqluice_name NOT NULL
    unique_key sqluice_key NOT NULL
    taken_at sqluice_time NOT NULL
    until sqluice_time NOT NULL
    job_id sqluice_id

TABLE sqluice_workers
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    name sqluice_name NOT NULL
    lock_key text NOT NULL
    host sqluice_text NOT NULL
    pid bigint NOT NULL
    version sqluice_text NOT NULL
    queues sqluice_json NOT NULL
    kinds sqluice_json NOT NULL
    started_at sqluice_time NOT NULL
    heartbeat_at sqluice_time NOT NULL
    lease_until sqluice_time NOT NULL
    ended_at sqluice_time
    end_reason text
    schedules sqluice_json NOT NULL DEFAULT '[]'::text
    declares sqluice_json NOT NULL DEFAULT '[]'::text

CONSTRAINTS
sqluice_declarations sqluice_declarations_body_check: CHECK ((json_typeof((body)::json) = 'object'::text))
sqluice_declarations sqluice_declarations_id_check: CHECK ((id ~ '^[0-9a-f]{32}$'::text))
sqluice_declarations sqluice_declarations_in_force_check: CHECK ((in_force = ANY (ARRAY[(0)::bigint, (1)::bigint])))
sqluice_declarations sqluice_declarations_ordinal_check: CHECK (((ordinal)::bigint > 0))
sqluice_declarations sqluice_declarations_pkey: PRIMARY KEY (id)
sqluice_job_audit sqluice_job_audit_id_check: CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint)))
sqluice_job_audit sqluice_job_audit_job_ids_check: CHECK (((job_ids)::text ~ '^\[([0-9]{1,19}(,[0-9]{1,19})*)?\]$'::text))
sqluice_job_audit sqluice_job_audit_pkey: PRIMARY KEY (id)
sqluice_job_changes sqluice_job_changes_pkey: PRIMARY KEY (id)
sqluice_job_counts sqluice_job_counts_pkey: PRIMARY KEY (queue, kind, status)
sqluice_job_errors sqluice_job_errors_cause_check: CHECK ((cause = ANY (ARRAY['error'::text, 'panic'::text, 'timeout'::text, 'decode'::text, 'crash'::text, 'lost'::text, 'expired'::text, 'snoozed'::text, 'released'::text, 'cancelled'::text, 'unable'::text])))
sqluice_job_errors sqluice_job_errors_pkey: PRIMARY KEY (id)
sqluice_job_history sqluice_job_history_pkey: PRIMARY KEY (step, start_at, queue, kind, event, bucket)
sqluice_jobs a_job_with_a_limit_key_is_scheduled_first: CHECK (((limit_key IS NULL) OR ((status)::text <> 'pending'::text)))
sqluice_jobs sqluice_jobs_check: CHECK (((successor_at IS NULL) OR ((((successor_at >= '100000000000000'::bigint) AND (successor_at <= '253402300799999999'::bigint)) OR (successor_at = 0)) AND (unique_key IS NOT NULL) AND ((status)::text = 'scheduled'::text))))
sqluice_jobs sqluice_jobs_id_check: CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint)))
sqluice_jobs sqluice_jobs_pkey: PRIMARY KEY (id)
sqluice_jobs start_by_is_in_unix_microseconds: CHECK (((start_by >= '100000000000000'::bigint) AND (start_by <= '253402300799999999'::bigint)))
sqluice_lanes sqluice_lanes_held_check: CHECK ((held = ANY (ARRAY[(0)::bigint, (1)::bigint])))
sqluice_lanes sqluice_lanes_pkey: PRIMARY KEY (kind, limit_key, queue)
sqluice_limit_keys sqluice_limit_keys_passed_id_check: CHECK ((passed_id >= 0))
sqluice_limit_keys sqluice_limit_keys_pkey: PRIMARY KEY (scope, name, limit_key)
sqluice_limit_keys sqluice_limit_keys_scope_check: CHECK ((scope = ANY (ARRAY['kind'::text, 'total'::text, 'queue'::text])))
sqluice_limits sqluice_limits_burst_check: CHECK (((burst >= 0) AND (burst <= 1000000)))
sqluice_limits sqluice_limits_check1: CHECK (((starts = 0) = (period = 0)))
sqluice_limits sqluice_limits_check2: CHECK (((burst = 0) OR (starts > 0)))
sqluice_limits sqluice_limits_check4: CHECK ((((depth)::bigint = 0) = (on_full = ''::text)))
sqluice_limits sqluice_limits_check5: CHECK (((ordered = ''::text) OR ((running)::bigint = 1)))
sqluice_limits sqluice_limits_check: CHECK ((((running)::bigint > 0) OR (starts > 0) OR (weight > 0) OR ((depth)::bigint > 0)))
sqluice_limits sqluice_limits_of_a_whole: CHECK (((scope = 'kind'::text) OR (((limit_key)::text = ''::text) AND (weight = 0) AND (ordered = ''::text) AND ((scope = 'queue'::text) OR ((depth)::bigint = 0)))))
sqluice_limits sqluice_limits_on_full_check: CHECK ((on_full = ANY (ARRAY[''::text, 'refuse'::text, 'drop'::text])))
sqluice_limits sqluice_limits_ordered_check: CHECK ((ordered = ANY (ARRAY[''::text, 'hold'::text, 'skip'::text, 'cancel'::text])))
sqluice_limits sqluice_limits_period_check: CHECK (((period >= 0) AND (period <= '86400000000'::bigint)))
sqluice_limits sqluice_limits_pkey: PRIMARY KEY (scope, name, limit_key)
sqluice_limits sqluice_limits_scope_check: CHECK ((scope = ANY (ARRAY['kind'::text, 'total'::text, 'queue'::text])))
sqluice_limits sqluice_limits_starts_check: CHECK (((starts >= 0) AND (starts <= 1000000)))
sqluice_limits sqluice_limits_weight_check: CHECK (((weight >= 0) AND (weight <= 1000)))
sqluice_moves sqluice_moves_direction_check: CHECK ((direction = ANY (ARRAY['in'::text, 'out'::text])))
sqluice_moves sqluice_moves_pkey: PRIMARY KEY (direction)
sqluice_pauses sqluice_pauses_kind_check: CHECK ((length(kind) <= 200))
sqluice_pauses sqluice_pauses_pkey: PRIMARY KEY (queue, kind)
sqluice_pauses sqluice_pauses_reason_check: CHECK (((length(reason) >= 1) AND (length(reason) <= 1000)))
sqluice_refusals sqluice_refusals_action_check: CHECK ((action = ANY (ARRAY['promote'::text, 'claim'::text, 'conflict'::text, 'renew'::text, 'end'::text, 'rescue'::text, 'prune'::text, 'expire'::text])))
sqluice_refusals sqluice_refusals_pkey: PRIMARY KEY (job_id, action)
sqluice_refusals sqluice_refusals_times_check: CHECK (((times)::bigint > 0))
sqluice_retentions keep_is_in_microseconds: CHECK (((keep >= 1000000) AND (keep <= '3153600000000000'::bigint)))
sqluice_retentions sqluice_retentions_kind_check: CHECK (((kind = ''::text) OR ((kind)::sqluice_name IS NOT NULL)))
sqluice_retentions sqluice_retentions_origin_check: CHECK ((origin = ANY (ARRAY['client'::text, 'code'::text])))
sqluice_retentions sqluice_retentions_pkey: PRIMARY KEY (status, kind, queue, origin)
sqluice_retentions sqluice_retentions_queue_check: CHECK (((queue = ''::text) OR ((queue)::sqluice_name IS NOT NULL)))
sqluice_retentions sqluice_retentions_status_check: CHECK ((status = ANY (ARRAY['done'::text, 'failed'::text, 'cancelled'::text])))
sqluice_schedule_ticks sqluice_schedule_ticks_outcome_check: CHECK ((outcome = ANY (ARRAY['enqueued'::text, 'asked'::text, 'owed'::text, 'skipped'::text, 'missed'::text])))
sqluice_schedule_ticks sqluice_schedule_ticks_pkey: PRIMARY KEY (schedule, tick)
sqluice_schedules sqluice_schedules_catch_up_check: CHECK ((catch_up ~ '^(latest|none|all:[1-9][0-9]{0,2})$'::text))
sqluice_schedules sqluice_schedules_options_check: CHECK ((json_typeof((options)::json) = 'object'::text))
sqluice_schedules sqluice_schedules_origin_check: CHECK ((origin = ANY (ARRAY['client'::text, 'code'::text])))
sqluice_schedules sqluice_schedules_overlap_check: CHECK ((overlap = ANY (ARRAY['allow'::text, 'skip'::text, 'replace'::text, 'after'::text])))
sqluice_schedules sqluice_schedules_pkey: PRIMARY KEY (name)
sqluice_schema_versions sqluice_schema_versions_check: CHECK ((((version >= 17) AND (version <= '9999999999999'::bigint)) AND ((runs_from >= 17) AND (runs_from <= version))))
sqluice_schema_versions sqluice_schema_versions_pkey: PRIMARY KEY (version)
sqluice_sensitive_fields sqluice_sensitive_fields_pkey: PRIMARY KEY (kind, path)
sqluice_unique_keys sqluice_unique_keys_pkey: PRIMARY KEY (kind, unique_key)
sqluice_workers sqluice_workers_declares_check: CHECK ((json_typeof((declares)::json) = 'array'::text))
sqluice_workers sqluice_workers_end_reason_check: CHECK ((end_reason = ANY (ARRAY['stopped'::text, 'crash'::text, 'lost'::text])))
sqluice_workers sqluice_workers_id_check: CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint)))
sqluice_workers sqluice_workers_kinds_check: CHECK ((json_typeof((kinds)::json) = 'array'::text))
sqluice_workers sqluice_workers_lock_key_check: CHECK (((length(lock_key) <= 200) AND (lock_key !~ '[^0-9A-Za-z-]'::text)))
sqluice_workers sqluice_workers_pid_check: CHECK (((pid >= 0) AND (pid <= '4294967295'::bigint)))
sqluice_workers sqluice_workers_pkey: PRIMARY KEY (id)
sqluice_workers sqluice_workers_queues_check: CHECK ((json_typeof((queues)::json) = 'object'::text))
sqluice_workers sqluice_workers_schedules_check: CHECK ((json_typeof((schedules)::json) = 'array'::text))

INDEXES
CREATE UNIQUE INDEX sqluice_declarations_in_force ON sqluice_declarations USING btree (subject, name) WHERE (in_force = 1)
CREATE INDEX sqluice_declarations_name ON sqluice_declarations USING btree (subject, name, ordinal)
CREATE UNIQUE INDEX sqluice_declarations_pkey ON sqluice_declarations USING btree (id)
CREATE INDEX sqluice_job_audit_at ON sqluice_job_audit USING btree (at)
CREATE INDEX sqluice_job_audit_job ON sqluice_job_audit USING btree (job_id) WHERE (job_id IS NOT NULL)
CREATE INDEX sqluice_job_audit_many ON sqluice_job_audit USING btree (id) WHERE (job_ids IS NOT NULL)
CREATE UNIQUE INDEX sqluice_job_audit_pkey ON sqluice_job_audit USING btree (id)
CREATE UNIQUE INDEX sqluice_job_changes_pkey ON sqluice_job_changes USING btree (id)
CREATE UNIQUE INDEX sqluice_job_counts_pkey ON sqluice_job_counts USING btree (queue, kind, status)
CREATE INDEX sqluice_job_errors_job ON sqluice_job_errors USING btree (job_id, attempt)
CREATE UNIQUE INDEX sqluice_job_errors_pkey ON sqluice_job_errors USING btree (id)
CREATE UNIQUE INDEX sqluice_job_history_pkey ON sqluice_job_history USING btree (step, start_at, queue, kind, event, bucket)
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs USING btree (queue, kind, priority DESC, run_after, id) WHERE ((status)::text = 'pending'::text)
CREATE INDEX sqluice_jobs_due ON sqluice_jobs USING btree (run_after, id) WHERE (((status)::text = 'scheduled'::text) AND (limit_key IS NULL))
CREATE INDEX sqluice_jobs_ended ON sqluice_jobs USING btree (status, id) WHERE (((status)::text = 'failed'::text) OR ((status)::text = 'cancelled'::text))
CREATE INDEX sqluice_jobs_failed ON sqluice_jobs USING btree (status, finished_at, id) WHERE (((status)::text = 'failed'::text) OR ((status)::text = 'cancelled'::text))
CREATE INDEX sqluice_jobs_failed_kind ON sqluice_jobs USING btree (kind, finished_at, id) WHERE ((status)::text = 'failed'::text)
CREATE INDEX sqluice_jobs_lane ON sqluice_jobs USING btree (kind, limit_key, queue, priority DESC, run_after, id) WHERE ((status)::text = 'waiting'::text)
CREATE INDEX sqluice_jobs_limited ON sqluice_jobs USING btree (kind, limit_key) WHERE ((limit_key IS NOT NULL) AND ((status)::text = 'running'::text))
CREATE INDEX sqluice_jobs_limited_due ON sqluice_jobs USING btree (run_after, id) WHERE ((limit_key IS NOT NULL) AND ((status)::text = 'scheduled'::text))
CREATE INDEX sqluice_jobs_limited_failed ON sqluice_jobs USING btree (kind, limit_key, id) WHERE ((limit_key IS NOT NULL) AND ((status)::text = 'failed'::text))
CREATE UNIQUE INDEX sqluice_jobs_pkey ON sqluice_jobs USING btree (id)
CREATE UNIQUE INDEX sqluice_jobs_request ON sqluice_jobs USING btree (kind, request_id) WHERE (request_id IS NOT NULL)
CREATE INDEX sqluice_jobs_running ON sqluice_jobs USING btree (worker_id) WHERE (((status)::text = 'running'::text) AND (finished_at IS NULL))
CREATE INDEX sqluice_jobs_scheduled ON sqluice_jobs USING btree (queue, kind, run_after) WHERE ((status)::text = 'scheduled'::text)
CREATE INDEX sqluice_jobs_sequence ON sqluice_jobs USING btree (kind, limit_key, id) WHERE ((limit_key IS NOT NULL) AND ((status)::text = ANY (ARRAY['scheduled'::text, 'waiting'::text])))
CREATE INDEX sqluice_jobs_start_by ON sqluice_jobs USING btree (start_by) WHERE ((start_by IS NOT NULL) AND ((status)::text = ANY (ARRAY['scheduled'::text, 'waiting'::text, 'pending'::text])))
CREATE UNIQUE INDEX sqluice_jobs_successor ON sqluice_jobs USING btree (kind, unique_key) WHERE (successor_at IS NOT NULL)
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs USING btree (kind, unique_key) WHERE ((unique_key IS NOT NULL) AND (successor_at IS NULL) AND ((status)::text = ANY (ARRAY['scheduled'::text, 'waiting'::text, 'pending'::text, 'running'::text])))
CREATE INDEX sqluice_jobs_user ON sqluice_jobs USING btree (user_id, id) WHERE (user_id IS NOT NULL)
CREATE INDEX sqluice_lanes_next ON sqluice_lanes USING btree (queue, kind, ready_at) WHERE (ready_at IS NOT NULL)
CREATE INDEX sqluice_lanes_parked ON sqluice_lanes USING btree (queue, kind, limit_key) WHERE (ready_at IS NULL)
CREATE UNIQUE INDEX sqluice_lanes_pkey ON sqluice_lanes USING btree (kind, limit_key, queue)
CREATE INDEX sqluice_lanes_ready ON sqluice_lanes USING btree (queue, kind, priority DESC, ready_at) WHERE (ready_at IS NOT NULL)
CREATE UNIQUE INDEX sqluice_limit_keys_pkey ON sqluice_limit_keys USING btree (scope, name, limit_key)
CREATE UNIQUE INDEX sqluice_limits_pkey ON sqluice_limits USING btree (scope, name, limit_key)
CREATE INDEX sqluice_limits_whole ON sqluice_limits USING btree (scope, name) WHERE ((limit_key)::text = ''::text)
CREATE UNIQUE INDEX sqluice_moves_pkey ON sqluice_moves USING btree (direction)
CREATE UNIQUE INDEX sqluice_pauses_pkey ON sqluice_pauses USING btree (queue, kind)
CREATE UNIQUE INDEX sqluice_refusals_pkey ON sqluice_refusals USING btree (job_id, action)
CREATE UNIQUE INDEX sqluice_retentions_pkey ON sqluice_retentions USING btree (status, kind, queue, origin)
CREATE UNIQUE INDEX sqluice_schedule_ticks_pkey ON sqluice_schedule_ticks USING btree (schedule, tick)
CREATE INDEX sqluice_schedules_next ON sqluice_schedules USING btree (next_at) WHERE ((paused_at IS NULL) AND (origin = 'client'::text))
CREATE INDEX sqluice_schedules_owed ON sqluice_schedules USING btree (owed_at) WHERE (owed_at IS NOT NULL)
CREATE UNIQUE INDEX sqluice_schedules_pkey ON sqluice_schedules USING btree (name)
CREATE UNIQUE INDEX sqluice_schema_versions_pkey ON sqluice_schema_versions USING btree (version)
CREATE UNIQUE INDEX sqluice_sensitive_fields_pkey ON sqluice_sensitive_fields USING btree (kind, path)
CREATE UNIQUE INDEX sqluice_unique_keys_pkey ON sqluice_unique_keys USING btree (kind, unique_key)
CREATE INDEX sqluice_unique_keys_until ON sqluice_unique_keys USING btree (until)
CREATE INDEX sqluice_workers_ended ON sqluice_workers USING btree (ended_at) WHERE (ended_at IS NOT NULL)
CREATE UNIQUE INDEX sqluice_workers_live ON sqluice_workers USING btree (name) WHERE (ended_at IS NULL)
CREATE UNIQUE INDEX sqluice_workers_pkey ON sqluice_workers USING btree (id)

TRIGGERS
CREATE TRIGGER sqluice_jobs_delete_counts AFTER DELETE ON sqluice_jobs REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION sqluice_jobs_delete_counts()
CREATE TRIGGER sqluice_jobs_delete_errors AFTER DELETE ON sqluice_jobs REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION sqluice_jobs_delete_errors()
CREATE TRIGGER sqluice_jobs_truncate_counts AFTER TRUNCATE ON sqluice_jobs FOR EACH STATEMENT EXECUTE FUNCTION sqluice_jobs_delete_counts()
CREATE TRIGGER sqluice_jobs_truncate_errors AFTER TRUNCATE ON sqluice_jobs FOR EACH STATEMENT EXECUTE FUNCTION sqluice_jobs_delete_errors()

FUNCTIONS
CREATE OR REPLACE FUNCTION sqluice_ids(ids text)
 RETURNS bigint[]
 LANGUAGE sql
 STABLE PARALLEL SAFE STRICT
AS $function$ SELECT CAST(translate(ids, '[]', '{}') AS BIGINT[]) $function$

CREATE OR REPLACE FUNCTION sqluice_jobs_delete_counts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('DELETE FROM %I.sqluice_job_counts', TG_TABLE_SCHEMA);
        EXECUTE format('UPDATE %I.sqluice_job_changes SET jobs = 0 WHERE jobs <> 0', TG_TABLE_SCHEMA);
    ELSE
        EXECUTE format('INSERT INTO %I.sqluice_job_changes (at, queue, kind, event, times, jobs) '
            'SELECT 0, d.queue, d.kind, d.status, 0, -COUNT(*) FROM deleted AS d '
            'WHERE d.status IN (''done'', ''failed'', ''cancelled'') GROUP BY d.queue, d.kind, d.status', TG_TABLE_SCHEMA);
    END IF;
    RETURN NULL;
END;
$function$

CREATE OR REPLACE FUNCTION sqluice_jobs_delete_errors()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('DELETE FROM %I.sqluice_job_errors', TG_TABLE_SCHEMA);
    ELSE
        EXECUTE format('DELETE FROM %I.sqluice_job_errors AS e USING deleted AS d WHERE e.job_id = d.id', TG_TABLE_SCHEMA);
    END IF;
    RETURN NULL;
END;
$function$

CREATE OR REPLACE FUNCTION sqluice_json_depth(document text)
 RETURNS bigint
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
    depth    BIGINT := octet_length(document) - octet_length(replace(replace(document, '[', ''), '{', ''));
    brackets TEXT;
BEGIN
    IF depth <= 1000 THEN
        RETURN depth;
    END IF;
    brackets := translate(regexp_replace(document, E'"([^"\\\\]|\\\\.)*"', '', 'g'),
        E'{},:0123456789+-.eEtrufalsn \t\n\r', '[]');
    depth := 0;
    WHILE brackets <> '' AND depth <= 1000 LOOP
        brackets := replace(brackets, '[]', '');
        depth := depth + 1;
    END LOOP;
    RETURN depth;
END;
$function$


VIEWS
sqluice_backlog AS WITH clock(now) AS (
         SELECT ((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint AS int8
        )
 SELECT b.queue,
    b.kind,
    (sum(b.waiting))::bigint AS waiting,
    (sum(b.scheduled))::bigint AS scheduled,
    min(b.oldest_at) AS oldest_at,
    to_char((to_timestamp(((min(b.oldest_at) / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'::text) AS oldest_at_text,
    ((min(c.now) - min(b.oldest_at)) / 1000000) AS oldest_seconds,
    min(b.next_at) AS next_at,
    to_char((to_timestamp(((min(b.next_at) / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'::text) AS next_at_text
   FROM (( SELECT p.queue,
            p.kind,
            count(*) AS waiting,
            0 AS scheduled,
            min(
                CASE p.run_after
                    WHEN 0 THEN (p.created_at)::bigint
                    ELSE (p.run_after)::bigint
                END) AS oldest_at,
            NULL::bigint AS next_at
           FROM sqluice_jobs p
          WHERE ((p.status)::text = 'pending'::text)
          GROUP BY p.queue, p.kind
        UNION ALL
         SELECT w.queue,
            w.kind,
            count(*) AS count,
            0,
            min(
                CASE w.run_after
                    WHEN 0 THEN (w.created_at)::bigint
                    ELSE (w.run_after)::bigint
                END) AS min,
            NULL::bigint AS int8
           FROM sqluice_jobs w
          WHERE ((w.status)::text = 'waiting'::text)
          GROUP BY w.queue, w.kind
        UNION ALL
         SELECT s.queue,
            s.kind,
            count(
                CASE
                    WHEN ((s.run_after)::bigint <= d.now) THEN 1
                    ELSE NULL::integer
                END) AS count,
            count(
                CASE
                    WHEN ((s.run_after)::bigint > d.now) THEN 1
                    ELSE NULL::integer
                END) AS count,
            min(
                CASE
                    WHEN ((s.run_after)::bigint <= d.now) THEN
                    CASE s.run_after
                        WHEN 0 THEN (s.created_at)::bigint
                        ELSE (s.run_after)::bigint
                    END
                    ELSE NULL::bigint
                END) AS min,
            min(
                CASE
                    WHEN ((s.run_after)::bigint > d.now) THEN (s.run_after)::bigint
                    ELSE NULL::bigint
                END) AS min
           FROM (sqluice_jobs s
             CROSS JOIN clock d)
          WHERE ((s.status)::text = 'scheduled'::text)
          GROUP BY s.queue, s.kind) b
     CROSS JOIN clock c)
  GROUP BY b.queue, b.kind;
sqluice_declared_limits AS SELECT (d.name)::text AS kind,
    (
        CASE
            WHEN ((((d.body -> 'limit'::text) -> 'running'::text))::text ~ '^[0-9]{1,17}$'::text) THEN ((d.body -> 'limit'::text) ->> 'running'::text)
            ELSE '0'::text
        END)::bigint AS running,
    (
        CASE
            WHEN ((((d.body -> 'limit'::text) -> 'starts'::text))::text ~ '^[0-9]{1,17}$'::text) THEN ((d.body -> 'limit'::text) ->> 'starts'::text)
            ELSE '0'::text
        END)::bigint AS starts,
    (
        CASE
            WHEN ((((d.body -> 'limit'::text) -> 'period'::text))::text ~ '^[0-9]{1,17}$'::text) THEN ((d.body -> 'limit'::text) ->> 'period'::text)
            ELSE '0'::text
        END)::bigint AS period,
    (
        CASE
            WHEN ((((d.body -> 'limit'::text) -> 'burst'::text))::text ~ '^[0-9]{1,17}$'::text) THEN ((d.body -> 'limit'::text) ->> 'burst'::text)
            ELSE '0'::text
        END)::bigint AS burst,
    (
        CASE
            WHEN ((((d.body -> 'limit'::text) -> 'weight'::text))::text ~ '^[0-9]{1,17}$'::text) THEN ((d.body -> 'limit'::text) ->> 'weight'::text)
            ELSE '0'::text
        END)::bigint AS weight,
        CASE
            WHEN (((d.body -> 'limit'::text) ->> 'ordered'::text) = ANY (ARRAY['hold'::text, 'skip'::text, 'cancel'::text])) THEN ((d.body -> 'limit'::text) ->> 'ordered'::text)
            ELSE ''::text
        END AS ordered,
    (
        CASE
            WHEN ((((d.body -> 'limit'::text) -> 'depth'::text))::text ~ '^[0-9]{1,17}$'::text) THEN ((d.body -> 'limit'::text) ->> 'depth'::text)
            ELSE '0'::text
        END)::bigint AS depth,
        CASE ((d.body -> 'limit'::text) ->> 'on_full'::text)
            WHEN 'drop'::text THEN 'drop'::text
            ELSE 'refuse'::text
        END AS on_full
   FROM ( SELECT sqluice_declarations.name,
            (
                CASE
                    WHEN ((sqluice_declarations.body)::text ~ (repeat(chr(92), 2) || 'u(0000|[dD][89a-fA-F])'::text)) THEN '{}'::text
                    ELSE (sqluice_declarations.body)::text
                END)::json AS body
           FROM sqluice_declarations
          WHERE (((sqluice_declarations.subject)::text = 'kind'::text) AND (sqluice_declarations.in_force = 1))) d
  WHERE (json_typeof((d.body -> 'limit'::text)) = 'object'::text);
sqluice_failures AS SELECT j.id,
    j.queue,
    j.kind,
    j.user_id,
    j.attempt,
        CASE
            WHEN ((j.max_attempts)::bigint > 0) THEN (j.max_attempts)::bigint
            ELSE COALESCE(( SELECT k.max_attempts
               FROM sqluice_kind_settings k
              WHERE ((k.kind = (j.kind)::text) AND (k.max_attempts > 0))), (25)::bigint)
        END AS max_attempts,
    j.crashes,
    ( SELECT e.cause
           FROM sqluice_job_errors e
          WHERE (((e.job_id)::bigint = j.id) AND (e.cause <> ALL (ARRAY['snoozed'::text, 'released'::text, 'cancelled'::text, 'unable'::text])))
          ORDER BY e.attempt DESC, e.id DESC
         LIMIT 1) AS cause,
    substr((j.last_error)::text, 1, 200) AS error,
    j.worker_id,
    w.name AS worker,
    w.host,
    j.created_at,
    to_char((to_timestamp((((j.created_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'::text) AS created_at_text,
    j.finished_at,
    to_char((to_timestamp((((j.finished_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'::text) AS finished_at_text
   FROM (sqluice_jobs j
     LEFT JOIN sqluice_workers w ON ((w.id = (j.worker_id)::bigint)))
  WHERE ((j.status)::text = 'failed'::text);
sqluice_jobs_readable AS SELECT id,
    queue,
    kind,
    payload,
    status,
    priority,
    (to_char((to_timestamp((((run_after)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char(((run_after)::bigint % (1000000)::bigint), '"."FM000000"Z"'::text)) AS run_after,
    (to_char((to_timestamp(((start_by / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char((start_by % (1000000)::bigint), '"."FM000000"Z"'::text)) AS start_by,
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
    (to_char((to_timestamp((((cancel_requested_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char(((cancel_requested_at)::bigint % (1000000)::bigint), '"."FM000000"Z"'::text)) AS cancel_requested_at,
    (to_char((to_timestamp(((successor_at / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS'::text) || to_char((successor_at % (1000000)::bigint), '"."FM000000"Z"'::text)) AS successor_at,
    limit_key
   FROM sqluice_jobs;
sqluice_kind_settings AS SELECT (d.name)::text AS kind,
    (
        CASE
            WHEN (((d.body -> 'max_attempts'::text))::text ~ '^-?[0-9]{1,18}$'::text) THEN (d.body ->> 'max_attempts'::text)
            ELSE '0'::text
        END)::bigint AS max_attempts,
    (
        CASE
            WHEN (((d.body -> 'timeout'::text))::text ~ '^-?[0-9]{1,18}$'::text) THEN (d.body ->> 'timeout'::text)
            ELSE '0'::text
        END)::bigint AS timeout,
        CASE json_typeof((d.body -> 'queue'::text))
            WHEN 'string'::text THEN (d.body ->> 'queue'::text)
            ELSE ''::text
        END AS queue,
    (
        CASE
            WHEN (((d.body -> 'priority'::text))::text ~ '^-?[0-9]{1,18}$'::text) THEN (d.body ->> 'priority'::text)
            ELSE '0'::text
        END)::bigint AS priority
   FROM ( SELECT sqluice_declarations.name,
            (
                CASE
                    WHEN ((sqluice_declarations.body)::text ~ (repeat(chr(92), 2) || 'u(0000|[dD][89a-fA-F])'::text)) THEN '{}'::text
                    ELSE (sqluice_declarations.body)::text
                END)::json AS body
           FROM sqluice_declarations
          WHERE (((sqluice_declarations.subject)::text = 'kind'::text) AND (sqluice_declarations.in_force = 1))) d;
sqluice_running AS SELECT j.id,
    j.queue,
    j.kind,
    j.user_id,
    j.attempt,
        CASE
            WHEN ((j.max_attempts)::bigint > 0) THEN (j.max_attempts)::bigint
            ELSE COALESCE(( SELECT k.max_attempts
               FROM sqluice_kind_settings k
              WHERE ((k.kind = (j.kind)::text) AND (k.max_attempts > 0))), (25)::bigint)
        END AS max_attempts,
    j.crashes,
    j.worker_id,
    w.name AS worker,
    w.host,
    w.pid,
    j.started_at,
    to_char((to_timestamp((((j.started_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'::text) AS started_at_text,
    ((((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint - (j.started_at)::bigint) / 1000000) AS running_seconds,
    j.lease_until,
    to_char((to_timestamp((((j.lease_until)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'::text) AS lease_until_text,
    j.cancel_requested_at,
    to_char((to_timestamp((((j.cancel_requested_at)::bigint / 1000000))::double precision) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'::text) AS cancel_requested_at_text,
    j.progress
   FROM (sqluice_jobs j
     LEFT JOIN sqluice_workers w ON ((w.id = (j.worker_id)::bigint)))
  WHERE (((j.status)::text = 'running'::text) AND (j.finished_at IS NULL));
