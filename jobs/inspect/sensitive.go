package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/redact"
)

// SensitiveFields returns the fields that are marked as sensitive, by kind: see [jobs.Kind.Sensitive].
func (in *Inspector) SensitiveFields(ctx context.Context) (map[string][]string, error) {
	rows, err := core.Value(ctx, in.scope.Read, func(ctx context.Context, q db.Querier) ([]db.SensitiveField, error) {
		return q.ListAllSensitiveFields(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("list sensitive fields: %w", err)
	}
	fields := map[string][]string{}
	for _, r := range rows {
		fields[r.Kind] = append(fields[r.Kind], r.Path)
	}
	return fields, nil
}

// MarkSensitive marks fields of a kind, as [jobs.Kind.Sensitive] does, for programs that have only the kind's name.
func (in *Inspector) MarkSensitive(ctx context.Context, kind string, paths ...string) error {
	_, err := in.setSensitive(ctx, ActionMark, kind, paths, func(ctx context.Context, q db.Querier, now int64) (int64, error) {
		return redact.AddMarks(ctx, q, now, map[string][]string{kind: paths})
	})
	return err
}

// UnmarkSensitive removes the marks from fields of a kind and returns the number of removed marks. If a Kind in some program
// marks a field, the next process that runs the kind or enqueues such a job marks it again.
func (in *Inspector) UnmarkSensitive(ctx context.Context, kind string, paths ...string) (int64, error) {
	list, err := json.Marshal(paths)
	if err != nil {
		return 0, fmt.Errorf("%s fields of %s: %w", ActionUnmark, strconv.Quote(kind), err)
	}
	return in.setSensitive(ctx, ActionUnmark, kind, paths, func(ctx context.Context, q db.Querier, _ int64) (int64, error) {
		return q.DeleteSensitiveFields(ctx, db.DeleteSensitiveFieldsParams{Kind: kind, Paths: string(list)})
	})
}

func (in *Inspector) setSensitive(
	ctx context.Context, action Action, kind string, paths []string, set func(ctx context.Context, q db.Querier, now int64) (int64, error),
) (n int64, err error) {
	author, err := audit.Of(ctx)
	if err == nil {
		err = core.ValidateName("kind", kind)
	}
	if err == nil && action == ActionMark {
		err = redact.Check(paths) // an invalid mark can still be removed
	}
	if err == nil && len(paths) > 0 {
		var detail string
		if detail, err = core.Encode("detail", map[string]any{"fields": paths}); err == nil {
			err = lifecycle.Change(ctx, in.scope, 0, func(ctx context.Context, q db.Querier) error {
				now := core.Micros(in.scope.Now())
				var err error
				if n, err = set(ctx, q, now); err != nil || n == 0 {
					return err
				}
				return author.Record(ctx, q, now, audit.Entry{Action: action, Kind: kind, Detail: json.RawMessage(detail)})
			})
		}
	}
	return core.Result(n, err, "%s fields of %s", action, strconv.Quote(kind))
}
