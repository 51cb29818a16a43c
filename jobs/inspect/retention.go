package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// RetentionRule sets how long jobs that ended with a status are kept, instead of a runner's [jobs.Retention]. All runners obey it. Of
// several matching rules, one for a kind and a queue takes precedence over one for a kind, that over one for a queue, and that over
// one for all jobs; and one that was set over one in a program's code, such as [jobs.Kind.Keep].
type RetentionRule struct {
	Queue  string        `json:"queue,omitempty"`  // empty: every queue
	Kind   string        `json:"kind,omitempty"`   // empty: every kind
	Status jobs.Status   `json:"status"`           // done, failed or cancelled
	Keep   time.Duration `json:"keep_ns"`          // from a second to 100 years, or [jobs.Forever], which is -1
	Code   bool          `json:"code,omitempty"`   // from a program's code
	By     string        `json:"by,omitempty"`     // the actor who set it, if known
	At     time.Time     `json:"at,omitzero"`      // when it was set
	Hidden bool          `json:"hidden,omitempty"` // without effect: another was set for the same jobs
}

// String returns the jobs that a rule is for.
func (r RetentionRule) String() string {
	text := strings.TrimPrefix(string(r.Status)+" jobs", " ")
	if r.Kind != "" {
		text += " of kind " + strconv.Quote(r.Kind)
	}
	if r.Queue != "" {
		text += " of queue " + strconv.Quote(r.Queue)
	}
	return text
}

// Retentions returns the rules, by queue, kind and status.
func (in *Inspector) Retentions(ctx context.Context) ([]RetentionRule, error) {
	rows, err := core.Value(ctx, in.scope.Read, func(ctx context.Context, q db.Querier) ([]db.Retention, error) {
		return q.ListRetentions(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("list rules of retention: %w", err)
	}
	slices.SortStableFunc(rows, func(a, b db.Retention) int { // databases sort text differently
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Origin, b.Origin))
	})
	list := make([]RetentionRule, len(rows))
	for i, r := range rows {
		list[i] = ruleOf(r)
		if i > 0 { // a rule that was set comes before one from code
			before := list[i-1]
			list[i].Hidden = before.Queue == r.Queue && before.Kind == r.Kind && string(before.Status) == r.Status
		}
	}
	return list, nil
}

func ruleOf(r db.Retention) RetentionRule {
	return RetentionRule{
		Queue: r.Queue, Kind: r.Kind, Status: jobs.Status(r.Status), Keep: prune.KeepOf(r.Keep), Code: r.Origin == prune.OriginCode,
		By: core.Deref(r.UpdatedBy), At: core.Time(r.UpdatedAt),
	}
}

// SetRetention sets a rule for its queue, kind and status, and reports whether that changed anything. Each runner obeys it from its next
// pass on, within about a minute, and later where tables are large and rules are set all the time. That pass removes jobs whose time is
// over by the rule.
func (in *Inspector) SetRetention(ctx context.Context, rule RetentionRule) (changed bool, err error) {
	return in.changeRetention(ctx, ActionSetRetention, rule, func(ctx context.Context, q db.Querier, now int64, by *string) (int64, error) {
		return q.PutRetention(ctx, db.PutRetentionParams{
			Queue: rule.Queue, Kind: rule.Kind, Status: string(rule.Status), Keep: prune.KeepColumn(rule.Keep), UpdatedBy: by, Now: now,
		})
	})
}

// RemoveRetention removes the rule with the same queue, kind and status, and reports whether there was one. A rule from code takes
// effect again when the one that was set is removed; removed itself, it is back when its program starts.
func (in *Inspector) RemoveRetention(ctx context.Context, rule RetentionRule) (found bool, err error) {
	rule.Keep = jobs.Forever // a valid value
	return in.changeRetention(ctx, ActionRemoveRetention, rule, func(ctx context.Context, q db.Querier, _ int64, _ *string) (int64, error) {
		return q.DeleteRetention(ctx, db.DeleteRetentionParams{Queue: rule.Queue, Kind: rule.Kind, Status: string(rule.Status)})
	})
}

func (in *Inspector) changeRetention(
	ctx context.Context, action Action, rule RetentionRule,
	change func(ctx context.Context, q db.Querier, now int64, by *string) (int64, error),
) (bool, error) {
	author, detail, err := audit.Detailed(ctx, rule.detail(action))
	if err == nil {
		err = rule.validate()
	}
	var n int64
	if err == nil {
		err = lifecycle.Change(ctx, in.scope, 0, func(ctx context.Context, q db.Querier) error {
			now := core.Micros(in.scope.Now())
			var err error
			if n, err = change(ctx, q, now, author.Name()); err != nil || n == 0 {
				return err
			}
			return author.Record(ctx, q, now, audit.Entry{Action: action, Kind: rule.Kind, Queue: rule.Queue, Detail: detail})
		})
	}
	return core.Result(n > 0, err, "%s of %s", action, rule)
}

// validate returns an error for an invalid rule.
func (r RetentionRule) validate() error {
	for field, name := range map[string]string{"queue": r.Queue, "kind": r.Kind} {
		if name == "" {
			continue
		}
		if err := core.ValidateName(field, name); err != nil {
			return err
		}
	}
	if !r.Status.Final() {
		return jobtype.NewInvalidError("status", strconv.Quote(string(r.Status)), "be done, failed or cancelled")
	}
	return prune.CheckKeep(r.Keep)
}

// detail returns the audit log's description of a change.
func (r RetentionRule) detail(action Action) map[string]any {
	detail := map[string]any{"status": r.Status}
	if action == ActionSetRetention {
		detail["keep"] = prune.KeepText(r.Keep)
	}
	return detail
}
