package admin

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestPrettyIsBounded checks that one mebibyte of JSON does not become a page of hundreds of mebibytes.
func TestPrettyIsBounded(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", 200) + strings.Repeat("0,", 400_000) + "0" + strings.Repeat("]", 200))
	if text := pretty(deep); len(text) > maxIndented || !strings.Contains(text, "the API has all of it") {
		t.Errorf("%d bytes became %d", len(deep), len(text))
	}
	for _, raw := range []string{
		`{}`, `[]`, `{"a":[1,2,{"b":"c,{[\"]:"}],"d":null}`, `"\\"`, `"\\\",["`, `{"a":{},"b":[[],[[]]]}`, ` [ 1 , 2 ] `,
	} {
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(raw), "", "  "); err != nil {
			t.Fatal(err)
		}
		if text := pretty(json.RawMessage(raw)); text != want.String() {
			t.Errorf("%s is shown as %s", raw, text)
		}
		if most := indented(json.RawMessage(raw)); most < want.Len() {
			t.Errorf("%s becomes %d bytes and was taken for %d", raw, want.Len(), most)
		}
	}
	if text := pretty(json.RawMessage("no JSON")); text != "no JSON" {
		t.Errorf("what is no JSON is shown as %s", text)
	}
}
