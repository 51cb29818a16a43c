SELECT current_setting('transaction_isolation'), current_setting('client_encoding'), CAST(pg_notify($1, $2) AS TEXT)
