package jobs

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestDecodeErrorsAreDiscreet(t *testing.T) {
	type card struct {
		Number int8
		Inner  struct{ Due json.Number }
	}
	for _, text := range []string{`{"Number":4111111111111111}`, `{"Number":"4111111111111111"}`, `{"Inner":{"Due":"4111111111111111x"}}`} {
		var c card
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			t.Fatalf("%s fits", text)
		}
		if said := discreet(err, true).Error(); strings.Contains(said, "4111") || said == "" {
			t.Errorf("of %s it says %s", text, said)
		}
		if said := discreet(err, false).Error(); strings.Contains(said, "4111111111111111") && !strings.Contains(text, "Due") {
			t.Errorf("of %s it says %s where the kind marks nothing", text, said)
		}
	}
	if own := errors.New("their own"); discreet(own, false) != own {
		t.Error("an error of the application's own type is another one where nothing is sensitive")
	}
}
