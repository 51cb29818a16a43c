package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
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

// span is an event in a queue, of a kind, in a step of time.
type span struct {
	start time.Time
	change
	bucket int64
}

// compare is the order in which sums are written.
func (a span) compare(b span) int {
	return cmp.Or(a.start.Compare(b.start), a.change.compare(b.change), cmp.Compare(a.bucket, b.bucket))
}

// foldOften adds up, while there is something to add up.
func (s *session) foldOften(ctx context.Context) {
	pause, looked := foldEvery, time.Now()
	for s.pause(ctx, pause) {
		began := time.Now()
		if began.Sub(looked) >= foldLook {
			looked = began
			s.note() // others may have noted something, and nobody else may be there to add it up
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
	left, err := s.client.fold(ctx, spans)
	if err != nil {
		if errors.Is(err, ErrUnknownOutcome) {
			left = nil // they may have been added, and better too few than twice
		}
		s.keepSpans(left)
	}
	return err
}

// fold takes the notes that are there, and adds them, with how long jobs waited and ran, to the sums. It returns what of the
// latter was not added.
func (c *Client) fold(ctx context.Context, durations map[span]int64) (left map[span]int64, err error) {
	for {
		more := false
		err := c.write(ctx, 0, func(ctx context.Context, q db.Querier) error {
			notes, err := q.TakeJobChanges(ctx, foldMost)
			if err != nil {
				return err
			}
			more = len(notes) == foldMost
			counts, history := changes{}, maps.Clone(durations)
			if history == nil {
				history = map[span]int64{}
			}
			for _, n := range notes {
				if n.Jobs != 0 {
					counts.add(n.Queue, n.Kind, n.Event, 0, n.Jobs)
				}
				if n.Times != 0 {
					history[span{core.Time(n.At).Truncate(fineStep), change{n.Queue, n.Kind, n.Event}, 0}] += n.Times
				}
			}
			if err := addCounts(ctx, q, counts); err != nil {
				return err
			}
			return addHistory(ctx, q, history)
		})
		if err != nil {
			return durations, fmt.Errorf("add up counts: %w", err)
		}
		durations = nil
		if !more {
			return nil, nil
		}
	}
}

func addCounts(ctx context.Context, q db.Querier, counts changes) error {
	var items [][]any
	for _, key := range slices.SortedFunc(maps.Keys(counts), change.compare) {
		if n := counts[key].jobs; n != 0 {
			items = append(items, []any{key.queue, key.kind, key.event, n})
		}
	}
	if len(items) == 0 {
		return nil
	}
	list, err := json.Marshal(items)
	if err != nil {
		return err
	}
	return q.AddJobCounts(ctx, string(list))
}

func addHistory(ctx context.Context, q db.Querier, fine map[span]int64) error {
	if len(fine) == 0 {
		return nil
	}
	fine = withSums(fine)
	coarse := map[span]int64{}
	for key, n := range fine {
		key.start = key.start.Truncate(coarseStep)
		coarse[key] += n
	}
	var items [][]any
	for _, sums := range []struct {
		step  time.Duration
		times map[span]int64
	}{{fineStep, fine}, {coarseStep, coarse}} {
		for _, key := range slices.SortedFunc(maps.Keys(sums.times), span.compare) {
			items = append(items, []any{
				sums.step.Microseconds(), core.Micros(key.start), key.queue, key.kind, key.event, key.bucket, sums.times[key],
			})
		}
	}
	list, err := json.Marshal(items)
	if err != nil {
		return err
	}
	return q.AddJobHistory(ctx, string(list))
}

// withSums adds the sums over all kinds of a queue, over all queues of a kind, and over both, under empty names.
func withSums(fine map[span]int64) map[span]int64 {
	all := make(map[span]int64, 2*len(fine))
	for key, n := range fine {
		all[key] += n
		for _, of := range []change{{key.queue, "", key.event}, {"", key.kind, key.event}, {"", "", key.event}} {
			key.change = of
			all[key] += n
		}
	}
	return all
}

// noteRecorded notes how long the jobs waited and ran whose ends were committed, and that there is something to add up.
// Callers hold mu.
func (s *session) noteRecorded(t *turn) {
	for _, o := range t.lost {
		o.attempt.ran = false // not here, as far as anybody is told
	}
	for _, o := range t.outcomes {
		a := o.attempt
		if !a.ran {
			continue
		}
		of := change{a.job.Queue, a.job.Kind, eventWait}
		start := a.job.due().Add(a.waited + a.took).Truncate(fineStep)
		s.spans[span{start, of, bucketOf(a.waited)}]++
		of.event = eventRun
		s.spans[span{start, of, bucketOf(a.took)}]++
	}
	s.noted = s.noted || len(t.outcomes) > 0
}

// takeSpans takes what is to be added up; noted tells whether notes may be there as well.
func (s *session) takeSpans() (spans map[span]int64, noted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spans, noted = s.spans, s.noted
	s.spans, s.noted = map[span]int64{}, false
	return spans, noted
}

// keepSpans keeps what could not be added up for the next time.
func (s *session) keepSpans(spans map[span]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, n := range spans {
		s.spans[key] += n
	}
	s.noted = true
}

// note says that there are notes to be added up.
func (s *session) note() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted = true
}
