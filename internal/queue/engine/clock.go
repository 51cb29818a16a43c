package engine

// ClockStands reports whether the clock of a store stands still until a test advances it, as in package jobstest. Then passing time
// makes no job due, and a jump of the clock does not mean that a process stood still.
func ClockStands(s Store) bool {
	c, ok := s.(interface{ ClockStands() bool })
	return ok && c.ClockStands()
}
