package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/redact"
)

// withhold removes from the errors of attempts, before they are recorded, what their kinds mark as sensitive: see
// [Kind.Sensitive]. It reads the marks from the database, since any process may have set them. Then it shortens the texts to
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

// Withhold returns a text about the attempt, such as its handler's error, as it would be recorded: without what the kind
// marks as sensitive (see [Kind.Sensitive]), and no longer than is recorded. It is for middleware that passes the text on.
// It reads the marks from the database. With an error, as outside a handler, the text is [Redacted]. Give it whole texts: of a
// text that was shortened before, it recognises a part of a value only before an ellipsis.
func (j Job) Withhold(ctx context.Context, text string) (string, error) {
	if j.held == nil {
		return Redacted, errNotHeld("withhold a text about", j.ID)
	}
	s := j.held.session
	s.mu.Lock()
	o := outcome{attempt: j.held, result: j.held.result}
	s.mu.Unlock()
	err := s.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		o.message = core.Clean(text, redact.MostText)
		list := []outcome{o}
		err := withhold(ctx, q, list)
		o.message = list[0].message
		return err
	})
	if err != nil {
		return Redacted, fmt.Errorf("withhold a text about job %d: %w", j.ID, err)
	}
	return o.message, nil
}

// valuesOf returns the columns whose marked values an attempt's texts may hold; result is the one it is about to set.
func valuesOf(j *Job, result *string) redact.Columns {
	set := j.Result
	if result != nil {
		set = json.RawMessage(*result)
	}
	return redact.Columns{Payload: &j.Payload, Metadata: &j.Metadata, Result: &set}
}
