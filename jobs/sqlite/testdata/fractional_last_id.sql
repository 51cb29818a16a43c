UPDATE sqlite_sequence SET seq = 7.5
