UPDATE sqluice_lanes SET ready_at = NULL
