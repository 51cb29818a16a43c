package outage

import (
	"context"
	"log/slog"
	"time"
)

// logEvery is the interval of the log lines during an outage.
const logEvery = 30 * time.Second

// Outage logs an operation that fails again and again, as when the database is away: at the beginning with the cause, at
// intervals while it lasts, and at the end. One goroutine uses it.
type Outage struct {
	log      *slog.Logger
	now      func() time.Time
	failures int       // the number in a row
	began    time.Time // the time of the first of them
	logged   time.Time // the time of the last logged failure
}

// New returns an Outage without a failure.
func New(log *slog.Logger) *Outage { return &Outage{log: log, now: time.Now} }

// Lasts returns the time since the first of the present failures; 0 without one.
func (o *Outage) Lasts() time.Duration {
	if o.failures == 0 {
		return 0
	}
	return o.now().Sub(o.began)
}

// Failures returns the number of failures in a row.
func (o *Outage) Failures() int { return o.failures }

// Failed records a failure. It logs the first one, and then one each logEvery, at the level; it logs all others at debug level.
func (o *Outage) Failed(level slog.Level, text string, args ...any) {
	now := o.now()
	if o.failures == 0 {
		o.began = now
	}
	o.failures++
	if o.failures == 1 || now.Sub(o.logged) >= logEvery {
		o.logged = now
	} else {
		level = slog.LevelDebug
	}
	o.log.Log(context.Background(), level, text, append(args, "failures", o.failures, "since", now.Sub(o.began).Round(time.Millisecond))...)
}

// Over records a success, and logs the text when it ends an outage.
func (o *Outage) Over(text string) {
	if o.failures == 0 {
		return
	}
	o.log.Info(text, "after", o.now().Sub(o.began).Round(time.Millisecond), "failures", o.failures)
	o.failures = 0
}
