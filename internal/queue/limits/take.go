package limits

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/clock"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Taking takes tokens of the rate of a limit, for code that is no job: tokens of the empty key of a kind, whose jobs without a key spend the
// same ones.
type Taking struct {
	Scope *engine.Scope
	Kind  string
	N     int64
}

// lookAgain is the longest wait for tokens without a look at the limit, which may have changed.
const lookAgain = time.Second

// Check returns an [jobtype.InvalidError] for a name that is not valid, and for fewer than one token.
func (t Taking) Check() error {
	if err := (Name{Scope: core.ScopeKind, Name: t.Kind}).check(); err != nil {
		return err
	}
	if t.N < 1 {
		return jobtype.NewInvalidError("number of tokens", strconv.FormatInt(t.N, 10), "be at least 1")
	}
	return nil
}

// Run takes the tokens once they are there. It holds no lock of the database while it waits. The error is an [jobtype.InvalidError] when
// they are more than a full burst, and ctx's when that ends first: then none were taken.
func (t Taking) Run(ctx context.Context) error {
	alarm := clock.NewAlarm(t.Scope.Now)
	defer alarm.Stop()
	for {
		at, err := t.try(ctx)
		if err != nil || at.IsZero() {
			return err
		}
		alarm.Set(core.Earlier(at, t.Scope.Now().Add(lookAgain)))
		select {
		case <-ctx.Done():
			return core.EndOf(ctx)
		case <-alarm.Ring():
		}
	}
}

// try takes the tokens if they are there. Otherwise it returns the earliest time at which they can be. It writes only when a read has found
// them: callers that wait lock no rows.
func (t Taking) try(ctx context.Context) (at time.Time, err error) {
	var limited bool
	err = t.Scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
		s, now, err := t.read(ctx, q)
		if err != nil {
			return err
		}
		at, limited = t.readyAt(s, now), s.interval() > 0
		return nil
	})
	if err != nil || !at.IsZero() || !limited {
		return at, err
	}
	err = lifecycle.Change(ctx, t.Scope, 0, func(ctx context.Context, q db.Querier) (err error) {
		at, err = t.take(ctx, q)
		return err
	})
	return at, err
}

// take is try in a transaction, whose lock of the key's row makes the statement after it see all earlier starts.
func (t Taking) take(ctx context.Context, q db.Querier) (time.Time, error) {
	if err := q.HoldLimitKey(ctx, db.HoldLimitKeyParams{Scope: core.ScopeKind, Name: t.Kind, LimitKey: ""}); err != nil {
		return time.Time{}, fmt.Errorf("lock the limit: %w", err)
	}
	s, now, err := t.read(ctx, q)
	if err != nil {
		return time.Time{}, err
	}
	if at := t.readyAt(s, now); !at.IsZero() {
		return at, nil
	}
	until := s.spend(now, t.N)
	if until == 0 { // the limit has lost its rate
		return time.Time{}, nil
	}
	return time.Time{}, core.Wrap(q.SpendStarts(ctx, core.JSONList([][4]any{{core.ScopeKind, t.Kind, "", until}})), "note the tokens of the limit")
}

// read returns the state of the limit and the time of the clock. The error is an [jobtype.InvalidError] when the tokens can never be there.
func (t Taking) read(ctx context.Context, q db.Querier) (*state, int64, error) {
	rows, err := q.ReadLimits(ctx, keys([]key{{kind: t.Kind}}))
	if err != nil {
		return nil, 0, fmt.Errorf("read the limit: %w", err)
	}
	now := core.Micros(t.Scope.Now())
	s := ofKey(rows[0], now)
	if most := max(1, s.Burst); s.interval() > 0 && t.N > most {
		return nil, 0, jobtype.NewInvalidError("number of tokens", strconv.FormatInt(t.N, 10),
			fmt.Sprintf("be at most %d, the burst of the limit of %s", most, t.Kind))
	}
	return s, now, nil
}

// readyAt returns the earliest time at which the tokens can be taken; the zero time when they are there.
func (t Taking) readyAt(s *state, now int64) time.Time {
	at := max(s.ClosedUntil, s.TokensAt(now, t.N))
	if at <= now {
		return time.Time{}
	}
	return core.Time(at)
}
