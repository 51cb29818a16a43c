package jobs

import (
	"context"
	"log/slog"
	"time"
)

// tellEvery is how often an outage that goes on is told of.
const tellEvery = 30 * time.Second

// outage tells of something that fails again and again, as when the database is away: at the beginning with the cause, now
// and then while it lasts, and when it is over. One goroutine uses it.
type outage struct {
	log      *slog.Logger
	now      func() time.Time
	failures int       // in a row
	began    time.Time // the first of them
	told     time.Time // the last that was told of
}

func newOutage(log *slog.Logger) *outage { return &outage{log: log, now: time.Now} }

// failed notes a failure. It logs the first one, and then one every tellEvery, at the level; it logs all others at debug level.
func (o *outage) failed(level slog.Level, text string, args ...any) {
	now := o.now()
	if o.failures == 0 {
		o.began = now
	}
	o.failures++
	if o.failures == 1 || now.Sub(o.told) >= tellEvery {
		o.told = now
	} else {
		level = slog.LevelDebug
	}
	o.log.Log(context.Background(), level, text, append(args, "failures", o.failures, "since", now.Sub(o.began).Round(time.Millisecond))...)
}

// over notes that it works, maybe again.
func (o *outage) over(text string) {
	if o.failures == 0 {
		return
	}
	o.log.Info(text, "after", o.now().Sub(o.began).Round(time.Millisecond), "failures", o.failures)
	o.failures = 0
}
