package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// withhold removes from the errors of attempts, before they are recorded, what their kinds mark as sensitive. It reads the marks from the database, since any process may have set them. Then it shortens the texts to
// what is recorded, in this order only: a part of a value is not recognised.
func withhold(ctx context.Context, q db.Querier, outcomes []outcome) error {
	var kinds []string
	for _, o := range outcomes {
		if o.hasText() {
			kinds = append(kinds, o.attempt.job.Kind)
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
	for i := range outcomes {
		if o := &outcomes[i]; o.hasText() {
			var values []string
			if h := fields[o.attempt.job.Kind]; h != nil {
				values = h.Values(valuesOf(&o.attempt.job, o.result))
			}
			o.withhold(values)
		}
	}
	return nil
}

func (o *outcome) hasText() bool { return o.message != "" || o.stack != "" || o.output != nil }

// withhold removes the values from the outcome's texts and shortens them to what is recorded.
func (o *outcome) withhold(values []string) {
	message, ofOutput := redact.Withhold(o.message, values), ""
	if o.output != nil {
		ofOutput, o.output = o.output.recorded(values), nil
	}
	o.message, o.stack = joinOutput(message, ofOutput), core.Cut(redact.Withhold(o.stack, values), maxStack)
}

// Withhold implements jobtype.Holder.
func (a *Attempt) Withhold(ctx context.Context, text string) (string, error) {
	x := a.executor
	x.mu.Lock()
	o := outcome{attempt: a, result: a.result}
	x.mu.Unlock()
	err := x.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		o.message = core.Clean(text, redact.MostText)
		list := []outcome{o}
		err := withhold(ctx, q, list)
		o.message = list[0].message
		return err
	})
	if err != nil {
		return jobtype.Redacted, fmt.Errorf("withhold a text about job %d: %w", a.job.ID, err)
	}
	return o.message, nil
}

// valuesOf returns the columns whose marked values an attempt's texts may hold; result is the one that it sets, if any.
func valuesOf(j *jobtype.Job, result *string) redact.Columns {
	set := j.Result
	if result != nil {
		set = json.RawMessage(*result)
	}
	return redact.Columns{Payload: &j.Payload, Metadata: &j.Metadata, Result: &set}
}
