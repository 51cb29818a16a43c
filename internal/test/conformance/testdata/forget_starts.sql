UPDATE sqluice_limit_keys SET paid_until = 0
