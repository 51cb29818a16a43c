-- +goose Up
-- Every job leaves two dead rows and their index entries in the way of claims. The default is to clear them when they
-- are a fifth of the table, which is never soon enough when a million finished jobs are kept. An update that finds room in
-- its own page writes less to the log.
ALTER TABLE jobs SET (fillfactor = 70,
                      autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 10000,
                      autovacuum_vacuum_insert_scale_factor = 0.0, autovacuum_vacuum_insert_threshold = 100000,
                      autovacuum_vacuum_cost_limit = 2000);

-- +goose Down
ALTER TABLE jobs RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
                        autovacuum_vacuum_insert_scale_factor, autovacuum_vacuum_insert_threshold,
                        autovacuum_vacuum_cost_limit);
