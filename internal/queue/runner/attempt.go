package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Attempt is one run of a job by this process, and the Holder of its handler's copy. The ledger's mutex guards its mutable fields.
type Attempt struct {
	env     *env
	job     jobtype.Job
	handler *Handler
	ctx     context.Context
	cancel  context.CancelCauseFunc
	stop    context.CancelFunc // cancels the timeout
	claimed time.Time
	result  *string // set by SetResult

	unfit     bool // the handler must not be called, for a version or a key: the error says which, and is not encrypted
	reserved  bool // a slot is reserved for it
	begun     bool // it has a slot
	over      bool // its outcome is settled: the run no longer waits for the handler
	completed bool // CompleteTx ran: when the handler returns, it is known whether it was committed
	woken     bool // CompleteTx was committed, and the lanes of the job's limit key are ready
	reported  bool // its handler was reported as stuck
	ran       bool // its handler was called and has returned

	timing  timing
	end     lifecycle.End // set when over is
	refused refused
}

// newAttempt returns the Attempt of a claimed job.
func newAttempt(e *env, job jobtype.Job) *Attempt {
	a := &Attempt{env: e, job: job, handler: e.handlers[job.Kind]}
	e.settings.Settings(job.Kind, a.handler.Settings).Fill(&a.job)
	a.job.SetHolder(a)
	return a
}

// timing holds the times of an attempt.
type timing struct {
	waited  time.Duration // from the due time of the job until its handler was called
	readied time.Duration // from the claim until its handler was called
	took    time.Duration // the duration of the handler
}

// refused counts the refusals of the database to record an attempt's end.
type refused struct {
	again  *time.Timer // moves the attempt back to the ended ones
	times  int32
	drop   bool // the database refused to remove the row with the end
	locked bool // the last refusal was for another transaction's lock
}

// refuse restarts the count when the database refuses an end for another reason than before.
func (r *refused) refuse(locked bool) {
	if r.locked != locked {
		r.locked, r.times = locked, 0
	}
}

// isLocked reports whether the end of the attempt was set aside because of another transaction's lock.
func (a *Attempt) isLocked() bool { return a.refused.locked }

// fence identifies an attempt: no two have the same.
type fence struct {
	job     int64
	attempt int64
}

func (a *Attempt) fence() fence { return fence{a.job.ID, int64(a.job.Attempt)} }

func (a *Attempt) attrs() []any {
	return []any{"job", a.job.ID, "kind", a.job.Kind, "queue", a.job.Queue, "attempt", a.job.Attempt}
}

// waitedUntil returns the time for which the job had been due: up to the claim by the clock of due times, and by this
// process's clock from then on. It is at most the longest duration, which a job has that was due at the time 0.
func (a *Attempt) waitedUntil(t time.Time) time.Duration {
	before, after := max(0, a.job.StartedAt.Sub(a.job.Due())), max(0, t.Sub(a.claimed))
	return before + min(after, math.MaxInt64-before)
}

// openContext creates the attempt's context, which has ended already if cancelled is not nil. Callers hold mu.
func (a *Attempt) openContext(now time.Time, cancelled error) {
	a.claimed = now
	a.ctx, a.cancel = context.WithCancelCause(a.env.values)
	a.stop = func() {}
	if cancelled != nil {
		a.cancel(cancelled)
	}
}

// prevented returns why the handler must no longer be called: the attempt was cancelled or lost before it began, or the time by which the
// job had to start has passed; a job that an attempt has begun and given back has none. The frame is not on the handler's stack.
//
//go:noinline
func (a *Attempt) prevented() error {
	if err := context.Cause(a.ctx); err != nil {
		return err
	}
	if a.job.StartBy.IsZero() || a.env.store.Now().Before(a.job.StartBy) {
		return nil
	}
	return &verdict{fate: lifecycle.FateCancel, cause: jobtype.CauseExpired, err: errors.New(lifecycle.NotStartedBy(a.job.StartBy))}
}

// ready decrypts the payload. Its error says why the handler must not be called: this worker does not know the payload's version or lacks
// its key, or the payload is damaged.
func (a *Attempt) ready() error {
	err := a.knowsVersion()
	if err == nil {
		err = a.decrypt()
	}
	a.unfit = err != nil
	return err
}

// knowsVersion returns an error if the payload has a version that this worker does not know. Most jobs have no metadata, and so version 0.
func (a *Attempt) knowsVersion() error {
	if len(a.job.Metadata) == 0 || a.handler.Version == AnyVersion {
		return nil
	}
	version, err := jobtype.PayloadVersion(a.job.Metadata)
	if err != nil {
		return Undecoded(err)
	}
	if version > a.handler.Version {
		return Unable(fmt.Errorf("the payload has version %d, and the worker's program knows the kind %s up to version %d",
			version, strconv.Quote(a.job.Kind), a.handler.Version))
	}
	return nil
}

// decrypt decrypts the payload. Until then, other goroutines do not read it.
func (a *Attempt) decrypt() error {
	if !cipher.Encrypted(a.job.Payload) {
		return nil
	}
	payload, err := a.env.cipher.Open(a.job.Kind, cipher.Payload, string(a.job.Payload))
	switch {
	case errors.Is(err, cipher.ErrNoKey):
		return Unable(err)
	case err != nil:
		return Undecoded(err)
	}
	a.job.Payload = json.RawMessage(payload)
	return nil
}

// clock starts the handler's time.
func (a *Attempt) clock() {
	timeout := cmp.Or(a.job.Timeout, a.env.config.Timeout)
	if timeout <= 0 {
		return
	}
	a.env.mu.Lock()
	defer a.env.mu.Unlock()
	a.ctx, a.stop = context.WithTimeoutCause(a.ctx, timeout, jobtype.ErrTimeout)
}
