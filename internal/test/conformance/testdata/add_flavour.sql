ALTER TABLE sqluice_jobs ADD COLUMN flavour TEXT NOT NULL DEFAULT 'plain'
