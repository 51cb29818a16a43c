package jobs_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/jobs"
)

// Each column of the insert is set by an option, or by the kind. A new column needs an option in [conformance.EveryColumn].
func TestEveryColumnIsSet(t *testing.T) {
	keys := []jobs.EnqueueOption{jobs.Queue("q"), jobs.In(time.Hour), jobs.Unique("u"), jobs.RequestID("r"), jobs.LimitKey("l")}
	columns, err := jobs.ColumnsOf("k", append(keys, conformance.EveryOption(1)...)...)
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(columns)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Payload" && name != "SuccessorAt" { // set later
			t.Errorf("%s is not set", name)
		}
	}
}
