package runner

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Registry lists the runs of one client that can take a job which is being enqueued. The zero value is an empty list.
type Registry struct {
	mu   sync.Mutex
	runs []*run // never changed, but replaced
}

func (g *Registry) add(r *run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs = append(slices.Clone(g.runs), r)
}

func (g *Registry) remove(r *run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs = slices.DeleteFunc(slices.Clone(g.runs), func(other *run) bool { return other == r })
}

// HandOver inserts a job that is due as claimed by a run that takes it, and starts it. final is false when the caller must insert
// the job normally: no run takes it, or the handover itself may have caused the failure.
func (g *Registry) HandOver(ctx context.Context, in engine.Insert) (ids []int64, final bool, err error) {
	h := g.reserve(in.Job.Kind, in.Job.Queue)
	if h == nil {
		return nil, false, nil
	}
	defer h.end() // also when a handler of events of the application panics
	store := h.run.store
	now := store.Now()
	in.Claim = h.claim(now)
	ids, err = store.Insert(ctx, in)
	if err != nil {
		return nil, ctx.Err() != nil || errors.Is(err, jobtype.ErrUnknownOutcome) || !engine.Refused(err) && store.CanRetry(err), err
	}
	h.start(h.attempt(in, now))
	return ids, true, nil
}

// reserve returns a handover to a run that takes the job; nil when there is none. The caller must call its end.
func (g *Registry) reserve(kind, queue string) *handover {
	g.mu.Lock()
	runs := g.runs
	g.mu.Unlock()
	for _, r := range runs {
		if h := r.reserve(kind, queue); h != nil {
			return h
		}
	}
	return nil
}
