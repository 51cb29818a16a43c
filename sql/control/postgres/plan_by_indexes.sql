SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)
