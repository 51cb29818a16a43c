package jobtype

import "time"

// The bounds of the values of a limit; the schema's CHECKs have the same.
const (
	MaxRunning    = 1_000_000_000
	MaxStarts     = 1_000_000 // of a rate, and of a burst
	MinRatePeriod = time.Millisecond
	MaxRatePeriod = 24 * time.Hour
	MaxWeight     = 1000
	MaxBacklog    = 1_000_000_000
)

// Rate is a number of starts in a period.
type Rate struct {
	Starts int           `json:"starts"`
	Period time.Duration `json:"period_ns"`
}

// LimitValues are the bounds of a limit.
type LimitValues struct {
	Running int  `json:"running"`
	Rate    Rate `json:"rate"`
	Burst   int  `json:"burst"`
	Weight  int  `json:"weight"`

	// Depth is the largest number of jobs of a key, or of a queue, that have not started; 0 means any number. OnFull says what an enqueue beyond it does.
	Depth  int    `json:"depth"`
	OnFull OnFull `json:"on_full,omitempty"`

	// Ordered has the jobs of a key run one by one, in the order of their ids; OnFail says what a failed one does to those behind it.
	Ordered bool   `json:"ordered"`
	OnFail  OnFail `json:"on_fail,omitempty"`
}

// OnFull says what an enqueue does when as many jobs of its limit key or queue wait as may. The zero value is [OnFullRefuse].
type OnFull string

const (
	OnFullRefuse OnFull = "refuse" // the enqueue returns a FullError
	OnFullDrop   OnFull = "drop"   // no job is added, and the receipt says so
)

// OnFail says what happens to the jobs behind a failed one, where the jobs of a limit key run in order. The zero value is [OnFailHold].
type OnFail string

const (
	// OnFailHold starts no job of the key until the failed one is retried, skipped by Client.ResumeSequence, or deleted.
	OnFailHold OnFail = "hold"

	// OnFailSkip goes on with the next job.
	OnFailSkip OnFail = "skip"

	// OnFailCancel cancels the jobs of the key that have not started, together with the failure. Later ones run.
	OnFailCancel OnFail = "cancel"
)

// LimitInfo is a limit in force.
type LimitInfo struct {
	Queue string `json:"queue,omitempty"` // the queue whose jobs the limit bounds together; empty: it is the limit of a kind
	Kind  string `json:"kind,omitempty"`
	Key   string `json:"key"`   // empty: for all keys without a limit of their own, each by itself
	Total bool   `json:"total"` // the limit bounds all jobs of the kind together
	LimitValues
	Declared bool      `json:"declared"`        // a program declares it, and it is not set by SetLimit
	SetAt    time.Time `json:"set_at,omitzero"` // when SetLimit set it

	// The jobs with the key, or with any key of the kind when it is empty, or those of the queue.
	RunningJobs int `json:"running_jobs"`
	WaitingJobs int `json:"waiting_jobs"` // due, and without room; of a queue all that are due
}
