INSERT INTO sqluice_workers (name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at, lease_until)
VALUES (?1, '', ?1, 7, ?1, json_object(?1, 3), json_array(?1), 0, 0, 253370764800000000);
