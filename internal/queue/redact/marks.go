package redact

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// ListMarks returns the marks of some kinds.
func ListMarks(ctx context.Context, q db.Querier, kinds []string) ([]db.ListSensitiveFieldsRow, error) {
	list, err := json.Marshal(kinds)
	if err != nil {
		return nil, err
	}
	rows, err := q.ListSensitiveFields(ctx, string(list))
	return core.Result(rows, err, "list sensitive fields")
}

// ReadFields returns the hidden fields of the jobs of some kinds, by kind. A kind without marks is missing.
func ReadFields(ctx context.Context, q db.Querier, kinds []string) (map[string]Fields, error) {
	rows, err := ListMarks(ctx, q, kinds)
	if err != nil {
		return nil, err
	}
	fields := map[string]Fields{}
	for _, r := range rows {
		if fields[r.Kind] == nil {
			fields[r.Kind] = Fields{}
		}
		fields[r.Kind].Hide(r.Path)
	}
	return fields, nil
}

// AddMarks marks fields of kinds and returns the number of new marks. now is in microseconds.
func AddMarks(ctx context.Context, q db.Querier, now int64, fields map[string][]string) (int64, error) {
	items := [][2]string{}
	for _, kind := range slices.Sorted(maps.Keys(fields)) { // always in the same order, so that two callers do not deadlock
		for _, path := range slices.Sorted(slices.Values(fields[kind])) {
			items = append(items, [2]string{kind, path})
		}
	}
	list, err := json.Marshal(items)
	if err != nil {
		return 0, err
	}
	n, err := q.AddSensitiveFields(ctx, db.AddSensitiveFieldsParams{Now: now, Items: string(list)})
	return core.Result(n, err, "mark sensitive fields")
}
