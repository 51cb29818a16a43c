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

// A RetryDelay that is negative would make a loop without a pause: the default applies, and the log says so once.
func TestNegativeRetryDelay(t *testing.T) {
	r := runOf(t, &endless{}, Config{}, nil, map[string]Handler{
		"k": {RetryDelay: func(jobtype.Job, error) time.Duration { return -time.Second }},
	})
	var log bytes.Buffer
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	for range 2 {
		a := r.attemptOf(db.ClaimJobsRow{ID: 1, Kind: "k", Attempt: 2, MaxAttempts: 5})
		end := a.failed(lifecycle.End{}, errors.New("bad"), jobtype.CauseError)
		if end.Fate != lifecycle.FateRetry || end.Delay < 14*time.Second || end.Delay > 18*time.Second { // 2^4 s, a tenth more or less
			t.Errorf("the job is %v in %s", end.Fate, end.Delay)
		}
	}
	if said := strings.Count(log.String(), "negative delay"); said != 1 {
		t.Errorf("the log says it %d times:\n%s", said, log.String())
	}
}
