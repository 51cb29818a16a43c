SELECT COALESCE(group_concat(version_id), ''), '' FROM sqluice_migrations WHERE version_id > 0
