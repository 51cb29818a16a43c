package main

import (
	"encoding/json"
	"testing"
)

func TestEscapeJSONKeepsTheValue(t *testing.T) {
	const value = "a\u009bb\u202ec\x7fd\U000E0001e 世界🙂"
	text, err := encodeJSON(value, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := `"a\u009bb\u202ec\u007fd\udb40\udc01e 世界🙂"`; string(text) != want {
		t.Errorf("encoded as %s, want %s", text, want)
	}
	var back string
	if err := json.Unmarshal(text, &back); err != nil || back != value {
		t.Errorf("decoded as %q, %v, want %q", back, err, value)
	}
}
