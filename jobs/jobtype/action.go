package jobtype

// Action is a change, or a reading of encrypted errors, that the audit log records.
type Action string

const (
	ActionEnqueue    Action = "enqueue"     // added jobs
	ActionRetry      Action = "retry"       // made jobs due now
	ActionCancel     Action = "cancel"      // ended jobs, or asked their workers to end them
	ActionUpdate     Action = "update"      // changed jobs that had not started
	ActionDelete     Action = "delete"      // removed jobs
	ActionPrune      Action = "prune"       // removed jobs that ended long ago
	ActionPause      Action = "pause"       // stopped claims from a queue
	ActionResume     Action = "resume"      // allowed these claims again
	ActionPauseKind  Action = "pause kind"  // stopped claims of a kind's jobs from a queue
	ActionResumeKind Action = "resume kind" // allowed these claims again
	ActionMark       Action = "mark"        // marked fields of a kind as sensitive
	ActionUnmark     Action = "unmark"      // removed such marks

	ActionSetRetention    Action = "set retention"    // set how long some ended jobs are kept
	ActionRemoveRetention Action = "remove retention" // removed such a rule

	ActionSetLimit    Action = "set limit"    // set a limit of a kind
	ActionDeleteLimit Action = "delete limit" // removed such a limit

	ActionResumeSequence Action = "resume sequence" // let the jobs behind a failed one of a limit key go on

	ActionRekey  Action = "rekey"  // encrypted jobs with another key
	ActionForget Action = "forget" // erased the data in a user's jobs

	ActionRevealErrors Action = "reveal errors" // read errors that are encrypted; changed nothing

	ActionSchedule       Action = "put schedule"    // added or replaced a schedule
	ActionPauseSchedule  Action = "pause schedule"  // stopped a schedule
	ActionResumeSchedule Action = "resume schedule" // resumed it
	ActionRunSchedule    Action = "run schedule"    // enqueued its job at once
	ActionDeleteSchedule Action = "delete schedule" // removed it
)

// Actions returns all actions.
func Actions() []Action {
	return []Action{
		ActionEnqueue, ActionRetry, ActionCancel, ActionUpdate, ActionDelete, ActionPrune, ActionPause, ActionResume,
		ActionPauseKind, ActionResumeKind, ActionMark, ActionUnmark,
		ActionRekey, ActionForget, ActionRevealErrors,
		ActionSetRetention, ActionRemoveRetention, ActionSetLimit, ActionDeleteLimit, ActionResumeSequence, ActionSchedule, ActionPauseSchedule, ActionResumeSchedule, ActionRunSchedule, ActionDeleteSchedule,
	}
}
