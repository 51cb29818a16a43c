INSERT INTO sqluice_goose_version (version_id, is_applied) VALUES ($1, true)
