package runner

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// ClaimMost is the largest number of jobs of one queue that one statement claims, and so the most that can be prefetched.
const ClaimMost = 1000

// Config holds the settings of a run. jobs.Config documents the fields and fills in the defaults: a Config has none.
type Config struct {
	Prefetch     int    // the largest number of prefetched jobs of each queue; 0: prefetchEach for each slot; negative: none
	Name         string // made of host and process id when empty
	Version      string
	Grace        time.Duration
	Lease        time.Duration
	Timeout      time.Duration
	StuckAfter   time.Duration
	Stop         time.Duration // the time for a stop after Grace
	FailOnBoot   bool
	MaxCrashes   int
	Retention    prune.Retention
	HistoryNames int // the number of queues, of kinds and of pairs with history rows of their own
	Log          *slog.Logger
	Drain        bool // the run ends when no job is left
}

// AnyVersion is the Version of a Handler that takes payloads of all versions.
const AnyVersion = -1

// Handler holds the settings and the function of a kind.
type Handler struct {
	Settings   jobrow.Settings
	Version    int // the newest version of the payloads that it takes, or AnyVersion
	RetryDelay func(job jobtype.Job, err error) time.Duration
	Drop       bool                                              // remove the rows of jobs that end well
	Run        func(ctx context.Context, job *jobtype.Job) error // copies the job
}

// env holds the values that the parts of a run share and do not change.
type env struct {
	store    engine.Store
	observer *jobtype.Observer
	config   Config
	log      *slog.Logger
	handlers map[string]*Handler
	served   *Queues
	kinds    string // the handlers' names as a JSON list
	sources  []Source
	notes    *refusal.Notes
	values   context.Context // the values of Run's context, for handlers; it does not end
	writing  context.Context // the same values; it ends when a stopping run gives up on the database
	finished chan struct{}   // closed when the loop has returned
	inTx     chan struct{}   // a signal: CompleteTx has run in an attempt of a job with a limit key
	mu       *sync.Mutex     // the ledger's, for attempts

	cipher    *cipher.Cipher // nil for none
	declared  *declare.Enforcer
	schedules string // a JSON list of the names of the schedules that the worker declares

	settings *jobrow.Declared // the settings of kinds

	negativeDelays sync.Map // the kinds whose negative RetryDelay was logged; the one field that changes during a run
}
