package declare

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Limit is a limit in the body of a declaration. The zero value of a field is no bound.
type Limit struct {
	Running int   `json:"running,omitempty"`
	Starts  int   `json:"starts,omitempty"` // in a period
	Period  int64 `json:"period,omitempty"` // microseconds
	Burst   int   `json:"burst,omitempty"`
	Weight  int   `json:"weight,omitempty"`

	Depth  int    `json:"depth,omitempty"`
	OnFull string `json:"on_full,omitempty"` // "refuse" or "drop": what an enqueue beyond the depth does

	Ordered string `json:"ordered,omitempty"` // "hold", "skip" or "cancel": what a failed job of a sequence does to those behind it
}

// QueueBody is the body of the declaration of a queue.
type QueueBody struct {
	Limit *Limit `json:"limit,omitempty"`
}

// LimitName names a limit of a whole kind or queue.
type LimitName struct{ Scope, Name string }

// wholes holds the rows of the limits of whole kinds and queues. A declared one is a row too, which claims lock as they lock a set one; the
// time at which it was set is 0. A limit that people set takes its place, and the declared one comes back when theirs is deleted.
type wholes map[LimitName]db.Limit

// readWholes reads the rows of the limits of whole kinds and queues.
func readWholes(ctx context.Context, q db.Querier) (wholes, error) {
	rows, err := q.ListWholeLimits(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the limits of whole kinds and queues: %w", err)
	}
	w := make(wholes, len(rows))
	for _, row := range rows {
		w[LimitName{row.Scope, row.Name}] = row
	}
	return w, nil
}

// declared returns the declared limit; nil if there is none, and if people have set one in its place.
func (w wholes) declared(n LimitName) *Limit {
	row, there := w[n]
	if !there || row.SetAt != 0 {
		return nil
	}
	return &Limit{
		Running: int(row.Running), Starts: int(row.Starts), Period: row.Period, Burst: int(row.Burst), Weight: int(row.Weight),
		Depth: int(row.Depth), OnFull: row.OnFull, Ordered: row.Ordered,
	}
}

// differs reports whether the rows have something else than a declared limit; nil: that there is none.
func (w wholes) differs(n LimitName, declared *Limit) bool {
	if row, there := w[n]; there && row.SetAt != 0 {
		return false
	}
	before := w.declared(n)
	if before == nil || declared == nil {
		return before != declared
	}
	return *before != *declared
}

// putWhole writes the row of a declared limit of a whole kind or queue, or removes it when declared is nil. A limit that people have set stays.
func putWhole(ctx context.Context, q db.Querier, n LimitName, declared *Limit) (err error) {
	if d := declared; d == nil {
		_, err = q.UndeclareLimit(ctx, db.UndeclareLimitParams{Scope: n.Scope, Name: n.Name})
	} else {
		err = q.DeclareLimit(ctx, db.DeclareLimitParams{
			Scope: n.Scope, Name: n.Name, Running: int64(d.Running), Starts: int64(d.Starts), Period: d.Period, Burst: int64(d.Burst),
			Weight: int64(d.Weight), Depth: int64(d.Depth), OnFull: d.OnFull, Ordered: d.Ordered,
		})
	}
	return core.Wrap(err, "put the declared limit of %s in force", n.Name)
}

// subject returns the subject of the declarations that have the limit.
func (n LimitName) subject() string {
	if n.Scope == core.ScopeQueue {
		return SubjectQueue
	}
	return SubjectKind
}

// Lock locks the declarations that have the limit, as an Enforcer does before it reads the limits: a change that deletes a limit and restores
// the declared one comes before or after another one is put in force.
func (n LimitName) Lock(ctx context.Context, q db.Querier) error {
	_, err := q.LockDeclarationsOf(ctx, db.LockDeclarationsOfParams{Subject: n.subject(), Name: n.Name})
	return core.Wrap(err, "lock what programs declare of %s", n.Name)
}

// RestoreLimit writes the limit of a whole kind or queue that programs declare, in place of one that people had set and have deleted.
func RestoreLimit(ctx context.Context, q db.Querier, n LimitName) error {
	row, err := q.GetDeclaration(ctx, db.GetDeclarationParams{Subject: n.subject(), Name: n.Name})
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what programs declare of %s: %w", n.Name, err)
	}
	var body struct {
		QueueBody
		Total *Limit `json:"total"`
	}
	if err := json.Unmarshal([]byte(row.Body), &body); err != nil {
		return fmt.Errorf("decode what programs declare of %s: %w", n.Name, err)
	}
	declared := body.Limit
	if n.Scope == core.ScopeTotal {
		declared = body.Total
	}
	return putWhole(ctx, q, n, declared)
}
