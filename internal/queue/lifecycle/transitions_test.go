package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// seen records the transitions that the reactions of a test get.
type seen []string

// reaction returns a reaction that records its transitions under a name, or fails.
func (s *seen) reaction(name string, early bool, fault error) reaction {
	return reaction{early: early, run: func(_ context.Context, _ db.Querier, _ int64, _ *Transitions, made []repeated) error {
		for _, m := range made {
			*s = append(*s, fmt.Sprintf("%s %s %s>%s %d", name, m.Job.Kind, m.From, m.To, m.times))
		}
		return fault
	}}
}

// Each reaction gets each transition once: an early one as soon as asked, the others at the end.
func TestReactions(t *testing.T) {
	var got seen
	made := &Transitions{reactions: []reaction{got.reaction("late", false, nil), got.reaction("early", true, nil)}}
	a, b := Ref{Queue: "q", Kind: "a"}, Ref{Queue: "q", Kind: "b"}
	for range 3 {
		made.LeaveRunning(a, FateDone, jobtype.StatusDone)
	}
	if err := made.ReactEarly(t.Context(), nil, 0); err != nil {
		t.Fatal(err)
	}
	made.LeaveRunning(a, FateDone, jobtype.StatusDone)
	made.Requeue(b, jobtype.StatusFailed)
	if err := made.Conclude(t.Context(), nil, 0); err != nil {
		t.Fatal(err)
	}
	want := seen{
		"early a running>done 3", "early a running>done 1", "early b failed>pending 1",
		"late a running>done 3", "late a running>done 1", "late b failed>pending 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the reactions got %q, not %q", got, want)
	}
}

// No reaction runs without a transition, and none after a fault.
func TestReactionFault(t *testing.T) {
	fault := errors.New("a fault")
	var got seen
	made := &Transitions{reactions: []reaction{got.reaction("early", true, fault), got.reaction("late", false, nil)}}
	if err := made.Conclude(t.Context(), nil, 0); err != nil || len(got) > 0 {
		t.Errorf("without a transition: %v, %q", err, got)
	}
	made.LeaveRunning(Ref{Kind: "a"}, FateRetry, jobtype.StatusScheduled)
	if err := made.Conclude(t.Context(), nil, 0); !errors.Is(err, fault) || !slices.Equal(got, seen{"early a running>scheduled 1"}) {
		t.Errorf("with a fault: %v, %q", err, got)
	}
}

// noteBook is a querier that records the statements of the reactions.
type noteBook struct {
	db.Querier
	keys, items string
}

func (n *noteBook) ReleaseSuccessors(_ context.Context, arg db.ReleaseSuccessorsParams) (int64, error) {
	n.keys = arg.Keys
	return 1, nil
}

func (n *noteBook) AddJobChanges(_ context.Context, arg db.AddJobChangesParams) error {
	n.items = arg.Items
	return nil
}

// Each kind of transition has its counts, its successors and its signals.
func TestConclude(t *testing.T) {
	job := Ref{Queue: "q", Kind: "k", UniqueKey: "u"}
	const keys = `[["k","u"]]`
	for name, c := range map[string]struct {
		hold        bool
		made        func(*Transitions)
		keys, items string
		signals     core.Signal
	}{
		"done":              {made: func(m *Transitions) { m.LeaveRunning(job, FateDone, jobtype.StatusDone) }, keys: keys, items: `[["q","k","done",1,1]]`, signals: core.JobEnded | core.WorkReady},
		"done, held":        {hold: true, made: func(m *Transitions) { m.LeaveRunning(job, FateDone, jobtype.StatusDone) }, items: `[["q","k","done",1,1]]`, signals: core.JobEnded},
		"recorded before":   {made: func(m *Transitions) { m.end(job, jobtype.StatusDone, jobtype.StatusDone) }, keys: keys, signals: core.JobEnded | core.WorkReady},
		"dropped":           {made: func(m *Transitions) { m.LeaveRunning(job, FateDone, StatusRemoved) }, keys: keys, items: `[["q","k","done",1,0]]`, signals: core.JobEnded | core.WorkReady},
		"dropped before":    {made: func(m *Transitions) { m.end(job, StatusRemoved, StatusRemoved) }, keys: keys, signals: core.JobEnded | core.WorkReady},
		"deleted by people": {made: func(m *Transitions) { m.end(job, jobtype.StatusDone, StatusRemoved) }, signals: core.JobEnded},
		"retried":           {made: func(m *Transitions) { m.LeaveRunning(job, FateRetry, jobtype.StatusScheduled) }, items: `[["q","k","retried",1,0]]`, signals: core.WorkReady},
		"released":          {made: func(m *Transitions) { m.LeaveRunning(job, FateRelease, jobtype.StatusPending) }, signals: core.WorkReady},
		"rescued":           {made: func(m *Transitions) { m.LeaveRunning(job, FateCrash, jobtype.StatusPending) }, items: `[["q","k","crashed",1,0]]`, signals: core.WorkReady},
		"revived":           {made: func(m *Transitions) { m.Requeue(job, jobtype.StatusFailed) }, items: `[["q","k","failed",0,-1]]`, signals: core.WorkReady},
	} {
		t.Run(name, func(t *testing.T) {
			made, book := NewTransitions(), &noteBook{}
			made.HoldSuccessors = c.hold
			c.made(made)
			if err := made.Conclude(t.Context(), book, 1); err != nil {
				t.Fatal(err)
			}
			if book.keys != c.keys || book.items != c.items || made.Signals() != c.signals {
				t.Errorf("keys %s, counts %s, signals %d; not %s, %s, %d", book.keys, book.items, made.Signals(), c.keys, c.items, c.signals)
			}
		})
	}
}

// elsewhere is a querier whose statements change no job: an earlier transaction has made the job pending.
type elsewhere struct{ db.Querier }

func (elsewhere) EndJob(context.Context, db.EndJobParams) (int64, error)       { return 0, nil }
func (elsewhere) ReturnJob(context.Context, db.ReturnJobParams) (int64, error) { return 0, nil }

func (elsewhere) RecordReleasedJobs(context.Context, db.RecordReleasedJobsParams) error { return nil }

func (elsewhere) ReleaseJobs(context.Context, db.ReleaseJobsParams) ([]int64, error) { return nil, nil }

func (elsewhere) GetJobFence(context.Context, int64) (db.GetJobFenceRow, error) {
	return db.GetJobFenceRow{Status: string(jobtype.StatusPending)}, nil
}

// The end of an attempt that a write of unknown outcome has recorded is announced by the write after it.
func TestSignalsAfterAnUnknownOutcome(t *testing.T) {
	for _, fate := range []Fate{FateRetry, FateSnooze, FateRelease, FateReturn} {
		for apart, want := range map[bool]core.Signal{false: 0, true: core.WorkReady | core.JobEnded} {
			made := NewTransitions()
			end := &End{Job: &jobtype.Job{ID: 1, Attempt: 1, WorkerID: 1}, Fate: fate, Apart: apart}
			if _, err := Finish(t.Context(), nil, elsewhere{}, time.Now(), []*End{end}, made); err != nil {
				t.Fatal(err)
			}
			if signals := made.Signals(); signals != want {
				t.Errorf("fate %d, recorded before: %t: the signals are %d, not %d", fate, apart, signals, want)
			}
		}
	}
}
