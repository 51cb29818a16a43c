SELECT current_setting('transaction_isolation'), current_setting('client_encoding')
