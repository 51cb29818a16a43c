ALTER TABLE sqluice_jobs ADD COLUMN region TEXT NOT NULL DEFAULT 'north';
ALTER TABLE sqluice_jobs ADD COLUMN size INTEGER;
ALTER TABLE sqluice_jobs ADD COLUMN share REAL;
