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

	// splitWait is how long jobs that were claimed wait for the ends beside them to be recorded. One of these may be locked.
	splitWait = 100 * time.Millisecond
)

// do has a turn written and does what follows from it.
func (p *pump) do(ctx context.Context, t *turn, stopping bool) error {
	p.mu.Lock()
	number := p.begin()
	p.mu.Unlock()
	failed, err := p.write(context.WithoutCancel(ctx), t)
	p.mu.Lock()
	p.end(number)
	p.mu.Unlock()
	if err != nil {
		return p.failed(failed, err, stopping)
	}
	p.trouble.over("the database works again")
	return nil
}

// write has a turn written, as one transaction or as two at once, and returns which failed. Of two it is that which records, where
// both did: the next claim will tell. Handlers of what was claimed begin when the ends are recorded: one of them may end the
// process, and then the jobs that have ended would run again.
func (p *pump) write(ctx context.Context, t *turn) (failed *turn, err error) {
	recording := t.split()
	if recording == nil {
		if err = t.commit(ctx); err == nil {
			p.took = t.took
			p.follow(t)
		}
		return t, err
	}
	recorded := make(chan error, 1)
	go func() { recorded <- recording.commit(ctx) }()
	err = t.commit(ctx)
	timer := time.NewTimer(splitWait)
	defer timer.Stop()
	var recordErr error
	begun := false
	select {
	case recordErr = <-recorded:
	case <-timer.C:
		if begun = true; err == nil {
			p.follow(t)
		}
		recordErr = <-recorded
	}
	if recordErr == nil {
		p.follow(recording)
	}
	if err == nil && !begun {
		p.follow(t)
	}
	if recordErr != nil {
		return recording, recordErr
	}
	p.took = max(t.took, recording.took)
	return t, err
}

// commit has the turn written as one transaction.
func (t *turn) commit(ctx context.Context) error {
	began := time.Now()
	var err error
	if t.lone {
		err = t.claimAlone(ctx)
	} else {
		err = t.session.store.Write(ctx, t.write)
	}
	t.took = time.Since(began)
	return err
}

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
