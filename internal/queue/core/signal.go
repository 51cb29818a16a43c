package core

// Signal is a set of events that a commit can announce.
type Signal uint8

const (
	// WorkReady means that a job may be claimable, or falls due sooner than listeners know.
	WorkReady Signal = 1 << iota
	// JobEnded means that a job reached a final status.
	JobEnded
	// WorkAdded is announced by enqueues in place of WorkReady, for engines whose transactions notify other processes by
	// themselves. Listeners listen for WorkReady.
	WorkAdded

	// ChangesOnly suppresses periodic wake-ups without a change for a listener: an engine that wakes listeners by a
	// timer first looks whether anything has changed. It is never announced.
	ChangesOnly
)
