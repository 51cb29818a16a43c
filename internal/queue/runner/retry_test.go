package runner

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// A negative delay of RetryDelay or RetryIn would cause a loop without a pause: the default applies, and one log line says so.
func TestNegativeRetryDelay(t *testing.T) {
	r := runOf(t, &endless{}, Config{}, nil, map[string]*Handler{
		"k": {RetryDelay: func(jobtype.Job, error) time.Duration { return -time.Second }},
	})
	var log bytes.Buffer
	r.env.log = slog.New(slog.NewTextHandler(&log, nil))
	for range 2 {
		a := r.attemptOf(db.ClaimJobsRow{ID: 1, Kind: "k", Attempt: 2, MaxAttempts: 5})
		a.ctx = t.Context()
		for _, err := range []error{errors.New("bad"), RetryIn(-time.Hour, errors.New("bad"))} {
			end := a.decide(err, "")
			if end.Fate != lifecycle.FateRetry || end.Delay < 14*time.Second || end.Delay > 18*time.Second { // 2^4 s, 10 % more or less
				t.Errorf("after %v the job is %v in %s", err, end.Fate, end.Delay)
			}
		}
	}
	if said := strings.Count(log.String(), "negative delay"); said != 1 {
		t.Errorf("the log says it %d times:\n%s", said, log.String())
	}
}
