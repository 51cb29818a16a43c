UPDATE sqluice_declarations SET in_force = 0 WHERE subject = 'queue' AND name = 'q' AND body LIKE '%3%';
UPDATE sqluice_declarations SET in_force = 1 WHERE subject = 'queue' AND name = 'q' AND body LIKE '%2%';
