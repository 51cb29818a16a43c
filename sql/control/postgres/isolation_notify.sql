SELECT current_setting('transaction_isolation'), CAST(pg_notify($1, $2) AS TEXT)
