DELETE FROM sqluice_limits;
