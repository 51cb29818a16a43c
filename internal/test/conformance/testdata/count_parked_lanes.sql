SELECT COUNT(*) FROM sqluice_lanes WHERE ready_at IS NULL
