package jobrow

import (
	"reflect"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// fill gives every field of a row a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.String:
		v.SetString(`["x"]`) // valid as a text and as a list of tags
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	}
}

// missing returns the exported fields of a job that are zero, except the fields that the row does not have.
func missing(job jobtype.Job, without ...string) (names []string) {
	v := reflect.ValueOf(job)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		known := true
		for _, name := range without {
			known = known && name != field.Name
		}
		if field.IsExported() && known && v.Field(i).IsZero() {
			names = append(names, field.Name)
		}
	}
	return names
}

// Each column of a row, also a new one, is a field of the job.
func TestEveryColumnIsAField(t *testing.T) {
	var row db.Job
	fill(reflect.ValueOf(&row).Elem())
	from := []string{"MaxAttemptsFrom", "TimeoutFrom"} // Fill sets these fields
	if names := missing(Of(row), from...); names != nil {
		t.Errorf("Of leaves out %v", names)
	}
	var claimed db.ClaimJobsRow
	fill(reflect.ValueOf(&claimed).Elem())
	now := time.Unix(1, 0)
	ends := []string{"Progress", "Result", "LastError", "CancelRequested", "FinishedAt", "Successor", "LimitKey"} // a claimed job has none of these, except the last from a lane
	if names := missing(Claimed(claimed, "q", 1, now, now), append(from, ends...)...); names != nil {
		t.Errorf("Claimed leaves out %v", names)
	}
	var ofLane db.StartWaitingJobsRow
	fill(reflect.ValueOf(&ofLane).Elem())
	if row := OfLane(&ofLane); !reflect.DeepEqual(row, claimed) {
		t.Errorf("OfLane leaves out columns: %+v", row)
	}
	var p db.EnqueueJobParams
	fill(reflect.ValueOf(&p).Elem())
	later := append(ends[:len(ends)-1], "ID", "Payload", "Status", "Attempt", "Uncounted", "Crashes", "WorkerID", "LeaseUntil", "CreatedAt", "StartedAt", "UpdatedAt")
	if names := missing(Requested(p), append(from, later...)...); names != nil {
		t.Errorf("Requested leaves out %v", names)
	}
}

// Each field of a job comes from a column, except the two that name the source of a setting, and each column becomes a field, except the mark
// of a prefetched attempt.
func TestColumnsAndFieldsAreAsMany(t *testing.T) {
	fields := 0
	for i := range reflect.TypeFor[jobtype.Job]().NumField() {
		if reflect.TypeFor[jobtype.Job]().Field(i).IsExported() {
			fields++
		}
	}
	if columns := reflect.TypeFor[db.Job]().NumField(); columns-1 != fields-2 {
		t.Errorf("a row has %d columns and a job %d fields", columns, fields)
	}
}
