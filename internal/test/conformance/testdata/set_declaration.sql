UPDATE sqluice_declarations SET body = BODY WHERE name = 'k' AND in_force = 1 RETURNING 1
