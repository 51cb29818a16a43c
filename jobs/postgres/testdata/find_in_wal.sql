SELECT w.name FROM pg_ls_waldir() AS w
WHERE position(convert_to($1::text, 'UTF8') IN pg_read_binary_file('pg_wal/' || w.name)) > 0;
