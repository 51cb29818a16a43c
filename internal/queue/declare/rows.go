package declare

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// rows holds what the database has of declarations.
type rows struct {
	rules  []db.Retention // all rules of retention
	limits wholes
}

// readRows reads what the database has of declarations.
func readRows(ctx context.Context, q db.Querier) (r rows, err error) {
	if r.rules, err = q.ListRetentions(ctx); err != nil {
		return r, err
	}
	r.limits, err = readWholes(ctx, q)
	return r, err
}

// ruleOf returns the retention rule that programs declared for the kind of a declaration; nil for none, and for other subjects.
func (r rows) ruleOf(d Declaration) *db.Retention {
	if d.Subject != SubjectKind {
		return nil
	}
	for i, rule := range r.rules {
		if rule.Origin == prune.OriginCode && rule.Kind == d.Name && rule.Queue == "" && rule.Status == string(jobtype.StatusDone) {
			return &r.rules[i]
		}
	}
	return nil
}

// putRule puts or removes the rule of retention of a kind.
func putRule(ctx context.Context, q db.Querier, p *pending, now time.Time) (list []change, err error) {
	const none = "as the runners are configured"
	before, after, rule := none, none, p.rows.ruleOf(p.Declaration)
	if rule != nil {
		before = prune.KeepText(prune.KeepOf(rule.Keep))
	}
	switch {
	case p.hasRetention:
		after = prune.KeepText(prune.KeepOf(p.keepFor))
		err = q.DeclareRetention(ctx, db.DeclareRetentionParams{Kind: p.Name, Keep: p.keepFor, Now: core.Micros(now)})
	case rule != nil:
		_, err = q.UndeclareRetention(ctx, p.Name)
	}
	if err != nil || before == after {
		return nil, err
	}
	detail, err := encode(map[string]string{"before": before, "after": after})
	return []change{{
		message: "the kind's done jobs are kept for another time", attrs: []any{"kind", p.Name, "keep", after, "before", before},
		entry: audit.Entry{Action: jobtype.ActionSetRetention, Kind: p.Name, Detail: []byte(detail)}, audited: p.inForce || rule != nil,
	}}, err
}

// putLimits writes or removes the limits of whole kinds and queues, in the order in which claims lock them. One that people have set stays, and
// counts. The audit has the change where another declaration is replaced.
func putLimits(ctx context.Context, q db.Querier, due []pending) (list []change, err error) {
	byName := func(a, b pending) int {
		x, _ := a.limited()
		y, _ := b.limited()
		return cmp.Or(cmp.Compare(x.Scope, y.Scope), cmp.Compare(x.Name, y.Name))
	}
	for _, p := range slices.SortedFunc(slices.Values(due), byName) {
		n, ok := p.limited()
		if !ok || !p.rows.limits.differs(n, p.whole) {
			continue
		}
		switch changed, err := putWhole(ctx, q, n, p.whole); {
		case err != nil:
			return nil, err
		case !changed:
			continue
		}
		detail, err := encode(map[string]*Limit{"before": p.rows.limits.declared(n), "after": p.whole})
		if err != nil {
			return nil, err
		}
		c := change{
			message: "the limit is as the program declares it", attrs: []any{n.Scope, n.Name, "change", detail},
			entry: audit.Entry{Action: jobtype.ActionSetLimit, Detail: []byte(detail)}, audited: p.replaces, opens: true,
		}
		if n.Scope == core.ScopeQueue {
			c.entry.Queue = n.Name
		} else {
			c.entry.Kind = n.Name
		}
		list = append(list, c)
	}
	return list, nil
}
