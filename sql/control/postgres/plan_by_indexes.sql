SELECT set_config('enable_seqscan', set_config('enable_bitmapscan', 'off', true), true), set_config('jit', 'off', true), set_config('statement_timeout', '35s', true)
