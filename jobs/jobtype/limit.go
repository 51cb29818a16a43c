package jobtype

import "time"

// The bounds of the values of a limit; the schema's CHECKs have the same.
const (
	MaxRunning    = 1_000_000_000
	MaxStarts     = 1_000_000 // of a rate, and of a burst
	MinRatePeriod = time.Millisecond
	MaxRatePeriod = 24 * time.Hour
	MaxWeight     = 1000
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
}

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
	WaitingJobs int `json:"waiting_jobs"` // due, and without room
}
