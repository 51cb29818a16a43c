-- +goose Up
ALTER TABLE jobs ADD COLUMN unique_key TEXT CHECK (length(unique_key) BETWEEN 1 AND 1000);
ALTER TABLE jobs ADD COLUMN request_id TEXT CHECK (length(request_id) BETWEEN 1 AND 1000);
ALTER TABLE jobs ADD COLUMN user_id TEXT CHECK (length(user_id) BETWEEN 1 AND 1000);
ALTER TABLE jobs ADD COLUMN tags TEXT CHECK (tags IS NULL OR CAST(tags AS json) IS NOT NULL);
ALTER TABLE jobs ADD COLUMN metadata TEXT CHECK (metadata IS NULL OR CAST(metadata AS json) IS NOT NULL);
ALTER TABLE jobs ADD COLUMN progress TEXT CHECK (progress IS NULL OR CAST(progress AS json) IS NOT NULL);
ALTER TABLE jobs ADD COLUMN result TEXT CHECK (result IS NULL OR CAST(result AS json) IS NOT NULL);

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
