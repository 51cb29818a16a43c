package telemetry

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/propagation"
)

// inject returns a job's metadata with the trace context of ctx. It does not replace existing fields, which are the application's. ok is
// false if it adds nothing, such as to metadata that is not a JSON object.
func inject(ctx context.Context, p propagation.TextMapPropagator, metadata json.RawMessage) (merged map[string]json.RawMessage, ok bool) {
	carried := propagation.MapCarrier{}
	p.Inject(ctx, carried)
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &merged); err != nil || merged == nil {
			return nil, false // not an object
		}
	}
	if merged == nil {
		merged = map[string]json.RawMessage{}
	}
	for key, value := range carried {
		text, err := json.Marshal(value)
		if _, there := merged[key]; err != nil || there {
			continue
		}
		merged[key], ok = text, true
	}
	return merged, ok
}

// carrier returns the fields of a job's metadata whose values are strings.
func carrier(metadata json.RawMessage) propagation.MapCarrier {
	carried := propagation.MapCarrier{}
	var fields map[string]json.RawMessage
	if len(metadata) == 0 || json.Unmarshal(metadata, &fields) != nil {
		return carried // not an object
	}
	for key, field := range fields {
		var text string
		if json.Unmarshal(field, &text) == nil { // other fields are the application's
			carried[key] = text
		}
	}
	return carried
}
