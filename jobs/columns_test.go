package jobs

import (
	"reflect"
	"testing"
	"time"
)

// Each column of the insert is set by an option, or by the kind. A column that is new needs an option here, and a place in row.
func TestEveryColumnIsSet(t *testing.T) {
	e := newEnqueue("k", []EnqueueOption{
		Queue("q"), Priority(1), In(time.Hour), MaxAttempts(2), Timeout(time.Second), Unique("u"), RequestID("r"), UserID("p"), Tags("t"), Metadata(1),
	})
	columns, err := e.columns(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(columns)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Payload" { // which the caller sets
			t.Errorf("%s is not set", name)
		}
	}
}
