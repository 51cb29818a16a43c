package telemetry

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/propagation"
)

// inject adds what a context carries to a job's metadata. What is there already stays: the application may have put its own
// there. ok says that there is something new.
func inject(ctx context.Context, p propagation.TextMapPropagator, metadata json.RawMessage) (merged map[string]json.RawMessage, ok bool) {
	carried := propagation.MapCarrier{}
	p.Inject(ctx, carried)
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &merged); err != nil || merged == nil {
			return nil, false // it is no object
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

// carrier gives the texts among a job's metadata.
func carrier(metadata json.RawMessage) propagation.MapCarrier {
	carried := propagation.MapCarrier{}
	var fields map[string]json.RawMessage
	if len(metadata) == 0 || json.Unmarshal(metadata, &fields) != nil {
		return carried // it is no object, and carries nothing
	}
	for key, field := range fields {
		var text string
		if json.Unmarshal(field, &text) == nil { // what is no text is the application's own
			carried[key] = text
		}
	}
	return carried
}
