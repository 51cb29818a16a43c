SELECT set_config('search_path', $1, false), set_config('statement_timeout', '0', false), set_config('idle_in_transaction_session_timeout', $2, false)
WHERE CASE WHEN current_setting('transaction_timeout', true) IS NULL THEN true ELSE set_config('transaction_timeout', '0', false) = '0' END
