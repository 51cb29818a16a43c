SELECT COALESCE(txid_status($1), 'forgotten')
