SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)
WHERE CASE WHEN current_setting('transaction_timeout', true) IS NULL THEN true ELSE set_config('transaction_timeout', '0', true) = '0' END
