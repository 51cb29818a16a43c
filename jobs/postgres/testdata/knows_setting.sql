SELECT current_setting($1, true) IS NOT NULL
