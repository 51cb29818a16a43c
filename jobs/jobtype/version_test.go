package jobtype

import (
	"encoding/json"
	"math"
	"testing"
)

// TestPayloadVersion reads versions as other programs write numbers.
func TestPayloadVersion(t *testing.T) {
	const wrong = -1
	for text, want := range map[string]int{
		"": 0, `{}`: 0, `[1]`: 0, `"sqluice_version"`: 0, `{"a":"\\"}`: 0, `{"sqluice_version":null}`: 0, `{"sqluice_version":0}`: 0,
		`{"sqluice_version":1}`: 1, `{"a":2,"sqluice_version":1.0}`: 1, `{"sqluice_version":1e1}`: 10, `{"sqluice\u005fversion":3}`: 3,
		`{"sqluice_version":1e300}`: math.MaxInt, `{"sqluice_version":1e999}`: math.MaxInt, `{"sqluice_version":9223372036854775808}`: math.MaxInt,
		`{"sqluice_version":"1"}`: wrong, `{"sqluice_version":0.5}`: wrong, `{"sqluice_version":-1}`: wrong, `{"sqluice_version":{}}`: wrong,
	} {
		got, err := PayloadVersion(json.RawMessage(text))
		if err != nil {
			got = wrong
		}
		if got != want {
			t.Errorf("the version of %s is %d, not %d (%v)", text, got, want, err)
		}
		if job := (Job{Metadata: json.RawMessage(text)}); job.PayloadVersion() != max(0, want) {
			t.Errorf("the job's version of %s is %d", text, job.PayloadVersion())
		}
	}
}
