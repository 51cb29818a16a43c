package runner

import (
	"context"
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// ClaimMost is how many jobs of one queue one statement claims, and so the most that can be prefetched.
const ClaimMost = 1000

// Config says how a run works. jobs.Config documents the fields and fills in the defaults: a Config has none.
type Config struct {
	Prefetch     int    // jobs of each queue
	Name         string // made from host and process id when empty
	Version      string
	Grace        time.Duration
	Lease        time.Duration
	Timeout      time.Duration
	StuckAfter   time.Duration
	Stop         time.Duration // after Grace
	FailOnBoot   bool
	MaxCrashes   int
	Retention    maintenance.Retention
	HistoryNames int // for so many queues, kinds and pairs of them a step of the history has rows
	Log          *slog.Logger
	Drain        bool // the run ends when no job is left
}

// AnyVersion is the Version of a Handler that takes payloads of all versions.
const AnyVersion = -1

// Handler is what a run knows of a kind.
type Handler struct {
	Settings   jobrow.Settings
	Version    int // of the payloads that it takes: this one and older ones, or AnyVersion
	RetryDelay func(job jobtype.Job, err error) time.Duration
	Drop       bool                                              // the rows of jobs that end well are removed
	Run        func(ctx context.Context, job *jobtype.Job) error // which copies the job
}

// Options are what a run needs beside its Config.
type Options struct {
	Scope    *engine.Scope
	Registry *Registry
	Queues   *Queues
	Handlers map[string]Handler              // by kind
	Prepare  func(ctx context.Context) error // called before the worker claims; an outage is waited out

	Declared  []declare.Declaration // what the program declares
	Schedules string                // those that the worker declares: a JSON list of names
	Settings  *jobrow.Declared      // what all programs declare of kinds; the run reads it when it starts and at each look of its heartbeat
}
