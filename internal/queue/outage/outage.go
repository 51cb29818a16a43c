package outage

import (
	"context"
	"log/slog"
	"time"
)

// logEvery is how often an outage that goes on is logged.
const logEvery = 30 * time.Second

// Outage logs something that fails again and again, as when the database is away: at its beginning with the cause, now and
// then while it lasts, and at its end. One goroutine uses it.
type Outage struct {
	log      *slog.Logger
	now      func() time.Time
	failures int       // in a row
	began    time.Time // the first of them
	logged   time.Time // the last that was logged
}

// New returns an Outage without a failure.
func New(log *slog.Logger) *Outage { return &Outage{log: log, now: time.Now} }

// Lasts returns how long there has been nothing but failures.
func (o *Outage) Lasts() time.Duration {
	if o.failures == 0 {
		return 0
	}
	return o.now().Sub(o.began)
}

// Failures returns how many failures in a row there were.
func (o *Outage) Failures() int { return o.failures }

// Failed notes a failure. It logs the first one, and then one each logEvery, at the level; it logs all others at debug level.
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

// Over notes a success, and logs the text when it ends an outage.
func (o *Outage) Over(text string) {
	if o.failures == 0 {
		return
	}
	o.log.Info(text, "after", o.now().Sub(o.began).Round(time.Millisecond), "failures", o.failures)
	o.failures = 0
}
