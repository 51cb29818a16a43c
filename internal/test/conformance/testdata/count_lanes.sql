SELECT COUNT(*) FROM sqluice_lanes
