-- +goose Up
ALTER TABLE sqluice_jobs ADD COLUMN tenant TEXT
    CHECK (tenant IS NULL OR length(tenant) BETWEEN 1 AND 200 AND instr(tenant, char(0)) = 0);
DROP VIEW sqluice_jobs_readable;
@newview

-- +goose Down
DROP VIEW sqluice_jobs_readable;
ALTER TABLE sqluice_jobs DROP COLUMN tenant;
@view
