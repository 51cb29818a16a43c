package model

import (
	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/jobs"
)

// transaction does some steps in an application's transaction and commits it or rolls it back. Meanwhile its client
// shows the changes, and the others do not.
func (m *machine) transaction(t *rapid.T) {
	commit, way := rapid.Bool().Draw(t, "commit"), rapid.IntRange(0, 1).Draw(t, "way to begin")
	steps := map[string]func(*rapid.T){
		"enqueue": m.enqueue, "enqueue many": m.enqueueMany, "enqueue items": m.enqueueItems, "cancel": m.cancel, "retry": m.retry,
		"retry failed": m.retryFailed, "delete": m.remove, "prune": m.prune, "pause": m.pause, "update": m.update,
		"put schedule": m.putSchedule, "change schedule": m.changeSchedule, "run schedule": m.runSchedule,
		"set rules": m.setRulesInTx, "remove rule": m.removeRule, "forget user": m.forgetUser,
	}
	names := []string{
		"enqueue", "enqueue many", "enqueue items", "cancel", "retry", "retry failed", "delete", "prune", "pause", "update",
		"put schedule", "change schedule", "run schedule", "set rules", "remove rule",
		"forget user",
	}
	before := m.model.clone()
	committed := false
	end, err := m.join(way)
	defer func() { // also when a draw ends the step
		if end(committed, before); !committed {
			m.model = before
		}
	}()
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	for range rapid.IntRange(1, 4).Draw(t, "steps in the transaction") {
		steps[pick(t, "step", names)](t)
	}
	m.compare()
	committed = commit
	t.Logf("committed: %v", commit)
}

// join makes all engines' clients work inside transactions until end is called. Call end after an error too.
func (m *machine) join(way int) (end func(commit bool, before *queue), err error) {
	var joined []*engine
	var open []transaction
	var outside []*jobs.Client
	end = func(commit bool, before *queue) {
		for i, e := range joined {
			e.client = outside[i]
			m.compareWith(e, "the view from outside the transaction", before.view())
			if err := m.end(e, open[i], commit); err != nil {
				m.fault(e, "the end of the transaction", err.Error())
			}
			if !commit {
				e.jobs.forget(before.lastJob)
			}
		}
	}
	for _, e := range m.engines {
		tx, err := e.begins[way%len(e.begins)](m.ctx)
		if err != nil {
			return end, err
		}
		joined, open, outside = append(joined, e), append(open, tx), append(outside, e.client)
		e.client = e.client.With(tx)
	}
	return end, nil
}

func (m *machine) end(e *engine, tx transaction, commit bool) error {
	if commit {
		return tx.Commit()
	}
	return tx.Rollback()
}
