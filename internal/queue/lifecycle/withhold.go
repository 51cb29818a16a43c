package lifecycle

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// withhold removes from the errors of attempts, before they are recorded, the values that their kinds mark as sensitive. It reads the
// marks from the database, since any process may have set them. Then it shortens the texts to their recorded length, in this order only:
// it would not recognize a part of a value.
func withhold(ctx context.Context, q db.Querier, ends []*End) error {
	var kinds []string
	for _, e := range ends {
		if e.hasText() {
			kinds = append(kinds, e.Job.Kind)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	slices.Sort(kinds)
	fields, err := redact.ReadFields(ctx, q, slices.Compact(kinds))
	if err != nil {
		return err
	}
	for _, e := range ends {
		if e.hasText() {
			var values []string
			if h := fields[e.Job.Kind]; h != nil {
				values = h.Values(valuesOf(e.Job, e.Result))
			}
			e.withhold(values)
		}
	}
	return nil
}

func (e *End) hasText() bool {
	return !e.encrypted && (e.Message != "" || e.Stack != "" || e.Output != nil)
}

// withhold removes the values from the end's texts and shortens them to their recorded length.
func (e *End) withhold(values []string) {
	message, ofOutput := redact.Withhold(e.Message, values), ""
	if e.Output != nil {
		ofOutput, e.Output = e.Output.recorded(values), nil
	}
	e.Message, e.Stack = joinOutput(message, ofOutput), core.Cut(redact.Withhold(e.Stack, values), maxStack)
}

// Withhold returns the recorded form of a text about an attempt.
func Withhold(ctx context.Context, q db.Querier, job *jobtype.Job, result *string, text string) (string, error) {
	e := End{Job: job, Result: result, Message: core.Clean(text, redact.MostText)}
	err := withhold(ctx, q, []*End{&e})
	return e.Message, err
}

// valuesOf returns the columns whose marked values an attempt's texts may hold; result is the attempt's result, if any.
func valuesOf(j *jobtype.Job, result *string) redact.Columns {
	set := j.Result
	if result != nil {
		set = json.RawMessage(*result)
	}
	return redact.Columns{Payload: &j.Payload, Metadata: &j.Metadata, Result: &set}
}
