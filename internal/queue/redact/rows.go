package redact

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// Rows hides the values that the kinds of jobs mark as sensitive, in rows that were read by the same Querier. It reads the
// marks after the jobs: the marks of a job are committed before it.
func Rows(ctx context.Context, q db.Querier, rows []db.Job) error {
	if len(rows) == 0 {
		return nil
	}
	kinds := core.Map(rows, func(r db.Job) string { return r.Kind })
	slices.Sort(kinds)
	fields, err := ReadFields(ctx, q, slices.Compact(kinds))
	if err != nil {
		return err
	}
	for i := range rows {
		if hidden := fields[rows[i].Kind]; hidden != nil {
			hidden.redactRow(&rows[i])
		}
	}
	return nil
}

func (h Fields) redactRow(row *db.Job) {
	payload := json.RawMessage(row.Payload)
	metadata, progress, result := rawJSON(row.Metadata), rawJSON(row.Progress), rawJSON(row.Result)
	h.Redact(Columns{Payload: &payload, Metadata: metadata, Progress: progress, Result: result})
	row.Payload = string(payload)
	row.Metadata, row.Progress, row.Result = column(metadata), column(progress), column(result)
}

// rawJSON returns a column that may be NULL as JSON.
func rawJSON(text *string) *json.RawMessage {
	if text == nil {
		return nil
	}
	return new(json.RawMessage(*text))
}

func column(raw *json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	return new(string(*raw))
}
