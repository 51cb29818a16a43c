package jobtype

// Action is a change that the audit log records.
type Action string

const (
	ActionEnqueue Action = "enqueue" // added jobs
	ActionRetry   Action = "retry"   // made jobs due now
	ActionCancel  Action = "cancel"  // ended jobs, or asked the workers that run them to
	ActionDelete  Action = "delete"  // removed jobs
	ActionPrune   Action = "prune"   // removed jobs that ended long ago
	ActionPause   Action = "pause"   // stopped claims from a queue
	ActionResume  Action = "resume"  // allowed them again
	ActionMark    Action = "mark"    // marked fields of a kind as sensitive
	ActionUnmark  Action = "unmark"  // removed such marks
)
