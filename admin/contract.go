package admin

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed openapi.json
var contract string

// contractBelow returns openapi.json for a handler that is mounted below the prefix.
func contractBelow(prefix string) ([]byte, error) {
	if prefix == "" {
		return []byte(contract), nil
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(contract), &document); err != nil {
		return nil, fmt.Errorf("read openapi.json: %w", err)
	}
	document["servers"] = []any{map[string]any{"url": prefix}}
	return json.Marshal(document)
}
