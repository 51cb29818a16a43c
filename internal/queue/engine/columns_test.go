package engine

import (
	"reflect"
	"testing"

	"github.com/sqluice/sqluice/db"
)

// filled returns a struct without a zero field.
func filled[T any]() (x T) {
	v := reflect.ValueOf(&x).Elem()
	for i := range v.NumField() {
		fill(v.Field(i))
	}
	return x
}

func fill(f reflect.Value) {
	switch f.Kind() {
	case reflect.String:
		f.SetString("x")
	case reflect.Int64:
		f.SetInt(7)
	case reflect.Pointer:
		f.Set(reflect.New(f.Type().Elem()))
		fill(f.Elem())
	}
}

// Every column that an enqueue sets, also a new one, reaches each of the statements that insert jobs.
func TestEveryColumnIsInserted(t *testing.T) {
	in := Insert{Job: filled[db.EnqueueKeylessJobParams](), Claim: &Claim{WorkerID: 1, StartedAt: 1, LeaseUntil: 1, Kinds: "x"}}
	for _, params := range []any{in.Many("x"), in.Claimed()} {
		v := reflect.ValueOf(params)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Cursors" { // an engine sets it
				t.Errorf("%T.%s is not set", params, name)
			}
		}
	}
}

// Jobs of one batch differ only in the columns that the batch's statement takes from each job.
func TestJobsThatDifferAreNotAlike(t *testing.T) {
	var a db.EnqueueKeylessJobParams
	for i := range reflect.TypeOf(a).NumField() {
		b := a
		fill(reflect.ValueOf(&b).Elem().Field(i))
		switch name := reflect.TypeOf(a).Field(i).Name; name {
		case "Payload", "Now", "RunAfter", "Status": // Add compares these itself
		default:
			if alike(&a, &b) {
				t.Errorf("jobs that differ in %s are alike", name)
			}
		}
	}
}
