SELECT pg_logical_emit_message(true, 'sqluice', '')
