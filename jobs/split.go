package jobs

import (
	"context"
	"time"
)

const (
	// splitLeast is from how many attempts to record, and how many jobs to claim, on two transactions at once are worth it: the
	// second one's commit is more than a few rows.
	splitLeast = 50

	// splitMost is among how many workers: more of them keep the server busy while one waits for it.
	splitMost = 2
)

// split takes what is to be recorded out of a turn that has much to record and to claim, for a transaction of its own at the
// same time; nil where that does not pay. Each of the two keeps one of the server's processes busy for as long as the other, and
// neither needs the other: a slot is free when its handler has returned.
func (t *turn) split() *turn {
	s := t.session
	if s.store.WritesAlone() || s.crowd.Load() > splitMost || len(t.outcomes) < splitLeast {
		return nil
	}
	var wanted int64
	for _, n := range t.wants {
		wanted += n
	}
	if wanted < splitLeast {
		return nil
	}
	recording := &turn{session: s, outcomes: t.outcomes}
	t.outcomes = nil
	return recording
}

// do has a turn written, as one transaction or as two at once, and does what follows from each as soon as it is committed.
func (p *pump) do(ctx context.Context, t *turn, stopping bool) error {
	p.turning()
	began := time.Now()
	ctx = context.WithoutCancel(ctx)
	recording := t.split()
	var recorded chan error
	if recording != nil {
		recorded = make(chan error, 1)
		go func() { recorded <- p.store.Write(ctx, recording.write) }()
	}
	err := p.store.Write(ctx, t.write)
	p.written(t, err, began)
	var recordErr error
	if recording != nil {
		recordErr = <-recorded
		p.written(recording, recordErr, began)
	}
	p.turning()
	if recordErr != nil {
		if err := p.failed(recording, recordErr, stopping); err != nil {
			return err
		}
	}
	if err != nil {
		return p.failed(t, err, stopping)
	}
	return nil
}

// written does what follows from a turn whose transaction was committed.
func (p *pump) written(t *turn, err error, began time.Time) {
	if err != nil {
		return
	}
	p.took = time.Since(began)
	p.observer.turned(t, p.took)
	if p.store.WritesAlone() {
		p.portion = p.portion.learn(len(t.outcomes)+len(t.claimed), t.held)
	}
	p.follow(t)
}
