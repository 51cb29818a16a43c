package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/stats"
)

const (
	// What was noted is added up every few seconds. Readers add up the rest, so this bounds what they read; it is to take
	// no more than a hundredth of the time.
	foldEvery = 5 * time.Second
	foldShare = 100
	foldMost  = 10_000 // notes in one transaction
	foldLook  = time.Minute
	foldLast  = 5 * time.Second // how long it may take at the end
)

// foldOften adds up, while there is something to add up.
func (s *session) foldOften(ctx context.Context) {
	pause, looked := foldEvery, time.Now()
	for s.pause(ctx, pause) {
		began := time.Now()
		if began.Sub(looked) >= foldLook {
			looked = began
			s.note() // other processes may have noted changes and ended before they added them up
		}
		err := s.fold(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("adding up counts failed; trying again later", "error", err)
		}
		if pause = foldEvery; err == nil {
			pause = min(max(foldEvery, foldShare*time.Since(began)), foldLook)
		}
	}
}

// fold adds what was noted of jobs to the counts and to the history.
func (s *session) fold(ctx context.Context) error {
	spans, noted := s.takeSpans()
	if !noted {
		return nil
	}
	left, err := s.client.addUp(ctx, spans)
	if err != nil {
		if errors.Is(err, ErrUnknownOutcome) {
			left = nil // they may have been added, and better too few than twice
		}
		s.keepSpans(left)
	}
	return err
}

// addUp moves the changes that the database has into the sums, together with durations. It returns those of the durations
// that were not added.
func (c *Client) addUp(ctx context.Context, durations stats.Durations) (left stats.Durations, err error) {
	for more := true; more; durations = nil {
		err := c.scope().Write(ctx, 0, func(ctx context.Context, q db.Querier) (err error) {
			more, err = stats.AddUp(ctx, q, foldMost, durations)
			return err
		})
		if err != nil {
			return durations, fmt.Errorf("add up counts: %w", err)
		}
	}
	return nil, nil
}

// noteRecorded notes how long the jobs waited and ran whose ends were committed, and that there is something to add up.
// Callers hold mu.
func (s *session) noteRecorded(t *turn) {
	for _, o := range t.lost {
		o.attempt.ran = false // the observer is told that this process did not run the attempt to its end
	}
	for _, o := range t.outcomes {
		a := o.attempt
		if !a.ran {
			continue
		}
		// From the claim on: a plain INSERT may have set a due time of long ago or of the year 9999.
		s.spans.Add(a.job.Queue, a.job.Kind, a.job.StartedAt.Add(a.readied+a.took), a.waited, a.took)
	}
	s.noted = s.noted || len(t.outcomes) > 0
}

// takeSpans returns the durations to add up and clears them; noted reports whether the database may hold notes to add up as
// well.
func (s *session) takeSpans() (spans stats.Durations, noted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spans, noted = s.spans, s.noted
	s.spans, s.noted = stats.Durations{}, false
	return spans, noted
}

// keepSpans keeps what could not be added up for the next time.
func (s *session) keepSpans(spans stats.Durations) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans.Merge(spans)
	s.noted = true
}

// note says that there are notes to be added up.
func (s *session) note() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted = true
}

// noteOutcome adds to the changes of a transaction what the end of an attempt made of its job.
func noteOutcome(done stats.Changes, o outcome) {
	job := &o.attempt.job
	switch o.fate {
	case fateDone:
		done.Ended(job.Queue, job.Kind, StatusDone, 1)
	case fateFail:
		done.Ended(job.Queue, job.Kind, StatusFailed, 1)
	case fateCancel:
		done.Ended(job.Queue, job.Kind, StatusCancelled, 1)
	case fateRetry:
		done.Add(job.Queue, job.Kind, stats.EventRetried, 1, 0)
	}
}
