package jobs

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A fence that was made void by SQL, and used again, is another attempt's.
func TestForgetLeavesAnotherAttempt(t *testing.T) {
	s := &session{running: map[fence]*attempt{}, values: t.Context()}
	old, other := &attempt{session: s, job: Job{ID: 1, Attempt: 1}}, &attempt{session: s, job: Job{ID: 1, Attempt: 1}}
	s.running[other.fence()] = other
	s.forget(old)
	if s.running[other.fence()] != other {
		t.Error("the other attempt is not running")
	}
	s.forget(other)
	if len(s.running) > 0 {
		t.Errorf("%d attempts are running", len(s.running))
	}
}

// When the contexts of handlers end, those of attempts that are claimed later do too.
func TestEndHandlers(t *testing.T) {
	s := &session{running: map[fence]*attempt{}, values: t.Context()}
	claim := func(id int64) *attempt {
		a := &attempt{session: s, job: Job{ID: id, Attempt: 1}}
		a.claim(time.Now())
		s.running[a.fence()] = a
		return a
	}
	before := claim(1)
	if err := before.ctx.Err(); err != nil {
		t.Errorf("the context has ended: %v", err)
	}
	s.endHandlers(ErrStopping)
	s.endHandlers(context.Canceled) // the first cause is the one
	for _, a := range []*attempt{before, claim(2)} {
		if cause := context.Cause(a.ctx); !errors.Is(cause, ErrStopping) {
			t.Errorf("the context of job %d has ended by %v", a.job.ID, cause)
		}
	}
}
