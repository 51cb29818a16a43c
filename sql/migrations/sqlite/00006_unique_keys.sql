-- +goose Up
ALTER TABLE jobs ADD COLUMN unique_key TEXT 
    CHECK (length(unique_key) BETWEEN 1 AND 1000 AND instr(unique_key, char(0)) = 0 AND unique_key NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*');
ALTER TABLE jobs ADD COLUMN request_id TEXT 
    CHECK (length(request_id) BETWEEN 1 AND 1000 AND instr(request_id, char(0)) = 0 AND request_id NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*');
ALTER TABLE jobs ADD COLUMN user_id TEXT 
    CHECK (length(user_id) BETWEEN 1 AND 1000 AND instr(user_id, char(0)) = 0 AND user_id NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*');
ALTER TABLE jobs ADD COLUMN tags TEXT CHECK (json_valid(tags) AND instr(tags, char(0)) = 0 AND length(CAST(tags AS BLOB)) <= 1048576);
ALTER TABLE jobs ADD COLUMN metadata TEXT CHECK (json_valid(metadata) AND instr(metadata, char(0)) = 0 AND length(CAST(metadata AS BLOB)) <= 1048576);
ALTER TABLE jobs ADD COLUMN progress TEXT CHECK (json_valid(progress) AND instr(progress, char(0)) = 0 AND length(CAST(progress AS BLOB)) <= 1048576);
ALTER TABLE jobs ADD COLUMN result TEXT CHECK (json_valid(result) AND instr(result, char(0)) = 0 AND length(CAST(result AS BLOB)) <= 1048576);

-- At most one live job of a kind has a unique key; a request id is taken for as long as its row is kept.
CREATE UNIQUE INDEX jobs_unique ON jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND status IN ('scheduled', 'pending', 'running');
CREATE UNIQUE INDEX jobs_request ON jobs (kind, request_id) WHERE request_id IS NOT NULL;

-- +goose Down
DROP INDEX jobs_request;
DROP INDEX jobs_unique;
ALTER TABLE jobs DROP COLUMN result;
ALTER TABLE jobs DROP COLUMN progress;
ALTER TABLE jobs DROP COLUMN metadata;
ALTER TABLE jobs DROP COLUMN tags;
ALTER TABLE jobs DROP COLUMN user_id;
ALTER TABLE jobs DROP COLUMN request_id;
ALTER TABLE jobs DROP COLUMN unique_key;
