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

// putWhole writes the row of a declared limit of a whole kind or queue, or removes it when declared is nil. It reports whether it did: a limit
// that people have set stays.
func putWhole(ctx context.Context, q db.Querier, n LimitName, declared *Limit) (bool, error) {
	var rows int64
	var err error
	if d := declared; d == nil {
		rows, err = q.UndeclareLimit(ctx, db.UndeclareLimitParams{Scope: n.Scope, Name: n.Name})
	} else {
		rows, err = q.DeclareLimit(ctx, db.DeclareLimitParams{
			Scope: n.Scope, Name: n.Name, Running: int64(d.Running), Starts: int64(d.Starts), Period: d.Period, Burst: int64(d.Burst),
			Weight: int64(d.Weight), Depth: int64(d.Depth), OnFull: d.OnFull, Ordered: d.Ordered,
		})
	}
	return rows > 0, core.Wrap(err, "put the declared limit of %s in force", n.Name)
}

// subject returns the subject of the declarations that have the limit.
func (n LimitName) subject() string {
	if n.Scope == core.ScopeQueue {
		return SubjectQueue
	}
	return SubjectKind
}

// DeleteLimit removes a limit of a whole kind or queue that people have set, so that the declared one counts again, and reports whether there was
// one. It locks the declarations first, as an Enforcer does: it comes before or after another one is put in force.
func DeleteLimit(ctx context.Context, q db.Querier, n LimitName) (bool, error) {
	if _, err := q.LockDeclarationsOf(ctx, db.LockDeclarationsOfParams{Subject: n.subject(), Name: n.Name}); err != nil {
		return false, fmt.Errorf("lock what programs declare of %s: %w", n.Name, err)
	}
	declared, err := n.declared(ctx, q)
	if err != nil {
		return false, err
	}
	var rows int64
	if d := declared; d == nil {
		rows, err = q.DeleteLimit(ctx, db.DeleteLimitParams{Scope: n.Scope, Name: n.Name})
	} else {
		rows, err = q.RestoreLimit(ctx, db.RestoreLimitParams{
			Running: int64(d.Running), Starts: int64(d.Starts), Period: d.Period, Burst: int64(d.Burst), Weight: int64(d.Weight),
			Depth: int64(d.Depth), OnFull: d.OnFull, Ordered: d.Ordered, Scope: n.Scope, Name: n.Name,
		})
	}
	return rows > 0, err
}

// declared returns the limit that the declaration in force has; nil: none.
func (n LimitName) declared(ctx context.Context, q db.Querier) (*Limit, error) {
	row, err := q.GetDeclaration(ctx, db.GetDeclarationParams{Subject: n.subject(), Name: n.Name})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what programs declare of %s: %w", n.Name, err)
	}
	var body struct {
		QueueBody
		Total *Limit `json:"total"`
	}
	if err := json.Unmarshal([]byte(row.Body), &body); err != nil {
		return nil, fmt.Errorf("decode what programs declare of %s: %w", n.Name, err)
	}
	if n.Scope == core.ScopeTotal {
		return body.Total, nil
	}
	return body.Limit, nil
}
