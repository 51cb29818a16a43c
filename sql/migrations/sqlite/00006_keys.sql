-- +goose Up
-- The names that this migration makes must be free.
CREATE TEMP TABLE sqluice_taken (names TEXT);
-- +goose StatementBegin
CREATE TEMP TRIGGER sqluice_taken_names BEFORE INSERT ON sqluice_taken
BEGIN
    SELECT RAISE(ABORT, 'the database has these names already, of an application or of another build of sqluice: ' || NEW.names);
END;
-- +goose StatementEnd
INSERT INTO sqluice_taken (names)
SELECT t.names FROM (SELECT group_concat(n.name, ', ') AS names FROM (
    SELECT s.name FROM main.sqlite_schema AS s WHERE lower(s.name) IN (
        'sqluice_jobs_unique', 'sqluice_jobs_request', 'sqluice_jobs_user'
    ) ORDER BY s.name
) AS n) AS t WHERE t.names IS NOT NULL;
DROP TABLE sqluice_taken;

-- What a job is known by, and what it carries beside its payload.
ALTER TABLE sqluice_jobs ADD COLUMN unique_key TEXT
    CHECK (unique_key IS NULL OR length(unique_key) BETWEEN 1 AND 1000 AND instr(unique_key, char(0)) = 0
           AND unique_key NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*');
ALTER TABLE sqluice_jobs ADD COLUMN request_id TEXT
    CHECK (request_id IS NULL OR length(request_id) BETWEEN 1 AND 1000 AND instr(request_id, char(0)) = 0
           AND request_id NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*');
ALTER TABLE sqluice_jobs ADD COLUMN user_id TEXT
    CHECK (user_id IS NULL OR length(user_id) BETWEEN 1 AND 1000 AND instr(user_id, char(0)) = 0
           AND user_id NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*');
ALTER TABLE sqluice_jobs ADD COLUMN tags TEXT
    CHECK (tags IS NULL OR json_valid(tags) AND instr(tags, char(0)) = 0 AND length(CAST(tags AS BLOB)) <= 1048576);
ALTER TABLE sqluice_jobs ADD COLUMN metadata TEXT
    CHECK (metadata IS NULL OR json_valid(metadata) AND instr(metadata, char(0)) = 0 AND length(CAST(metadata AS BLOB)) <= 1048576);
ALTER TABLE sqluice_jobs ADD COLUMN progress TEXT
    CHECK (progress IS NULL OR json_valid(progress) AND instr(progress, char(0)) = 0 AND (length(CAST(progress AS BLOB)) <= 1048576
                    OR substr(progress, 1, 19) = '"sqluice:encrypted:' AND length(CAST(progress AS BLOB)) <= 1572864));
ALTER TABLE sqluice_jobs ADD COLUMN result TEXT
    CHECK (result IS NULL OR json_valid(result) AND instr(result, char(0)) = 0 AND (length(CAST(result AS BLOB)) <= 1048576
                    OR substr(result, 1, 19) = '"sqluice:encrypted:' AND length(CAST(result AS BLOB)) <= 1572864));

-- At most one live job of a kind has a unique key; a request id is taken for as long as its row is kept.
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND status IN ('scheduled', 'pending', 'running');
CREATE UNIQUE INDEX sqluice_jobs_request ON sqluice_jobs (kind, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX sqluice_jobs_user ON sqluice_jobs (user_id, id) WHERE user_id IS NOT NULL;

-- +goose Down
DROP INDEX sqluice_jobs_user;
DROP INDEX sqluice_jobs_request;
DROP INDEX sqluice_jobs_unique;
ALTER TABLE sqluice_jobs DROP COLUMN result;
ALTER TABLE sqluice_jobs DROP COLUMN progress;
ALTER TABLE sqluice_jobs DROP COLUMN metadata;
ALTER TABLE sqluice_jobs DROP COLUMN tags;
ALTER TABLE sqluice_jobs DROP COLUMN user_id;
ALTER TABLE sqluice_jobs DROP COLUMN request_id;
ALTER TABLE sqluice_jobs DROP COLUMN unique_key;
