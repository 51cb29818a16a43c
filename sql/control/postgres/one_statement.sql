SELECT set_config('enable_seqscan', set_config('enable_bitmapscan', 'off', true), true), set_config('jit', 'off', true), set_config('lock_timeout', '5s', true), set_config('statement_timeout', '35s', true)
WHERE CASE WHEN current_setting('transaction_timeout', true) IS NULL THEN true ELSE set_config('transaction_timeout', '0', true) = '0' END
