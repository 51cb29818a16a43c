package core

// Signal is a set of things that a commit can make true.
type Signal uint8

const (
	// WorkReady means that a job may be claimable or falls due sooner than known.
	WorkReady Signal = 1 << iota
	// JobEnded means that a job reached a final status.
	JobEnded
	// WorkAdded is announced in place of WorkReady by enqueues, for engines whose transactions notify other processes by
	// themselves. Listeners listen for WorkReady.
	WorkAdded

	// ChangesOnly, in what a listener listens for, suppresses periodic wake-ups without a change: an engine that wakes
	// listeners by a timer first looks whether anything has changed. It is never announced.
	ChangesOnly
)
