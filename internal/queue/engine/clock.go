package engine

// ClockStands reports whether the clock of a store stands still until a test advances it, as in package jobstest. Then no job falls due
// because time passes, and a step of the clock is no sign of a process that did not run.
func ClockStands(s Store) bool {
	c, ok := s.(interface{ ClockStands() bool })
	return ok && c.ClockStands()
}
