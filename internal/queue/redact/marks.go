package redact

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// ListMarks returns the marks of some kinds.
func ListMarks(ctx context.Context, q db.Querier, kinds []string) ([]db.ListSensitiveFieldsRow, error) {
	list, err := json.Marshal(kinds)
	if err != nil {
		return nil, err
	}
	rows, err := q.ListSensitiveFields(ctx, string(list))
	if err != nil {
		return nil, fmt.Errorf("list sensitive fields: %w", err)
	}
	return rows, nil
}

// ReadFields returns what is hidden of the jobs of some kinds, by kind. A kind without marks is missing.
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
