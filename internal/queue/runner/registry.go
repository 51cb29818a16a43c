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

// HandOver inserts a job that is due by a handover to a run that takes it: add returns the transaction's function. final is
// false when the caller must insert the job normally: no run takes it, or the handover itself may have caused the failure.
func (g *Registry) HandOver(ctx context.Context, kind, queue string, add func(*Handover) engine.Func) (final bool, err error) {
	h := g.reserve(kind, queue)
	if h == nil {
		return false, nil
	}
	defer h.end() // also when a handler of events of the application panics
	store := h.run.store
	limited, cancel := ctx, context.CancelFunc(func() {})
	if !store.WritesAlone() { // on SQLite a waiting writer blocks all others, so no timeout is set
		limited, cancel = context.WithTimeout(ctx, handoverMost)
	}
	defer cancel()
	err = store.Write(limited, add(h)) // alone: its limit and its faults are not for others
	late := limited.Err() != nil
	if err == nil {
		if !h.start() {
			store.Announce(jobtype.WorkAdded)
		}
		return true, nil
	}
	return h.declined && !late || ctx.Err() != nil || errors.Is(err, jobtype.ErrUnknownOutcome) || !late && store.CanRetry(err), err
}

// reserve returns a handover to a run that takes the job; nil when there is none. The caller must call its end.
func (g *Registry) reserve(kind, queue string) *Handover {
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
