PRAGMA temp_store
