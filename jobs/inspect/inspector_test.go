package inspect_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func TestUnrecorded(t *testing.T) {
	type ranges = []inspect.AttemptRange
	for _, test := range []struct {
		first, last int
		errors      []int // the attempts that failed
		want        ranges
	}{
		{1, 0, nil, nil},
		{1, 0, []int{0}, nil}, // it was not started in time
		{1, 3, nil, ranges{{1, 3}}},
		{1, 3, []int{1, 2, 3}, nil},
		{1, 3, []int{2}, ranges{{1, 1}, {3, 3}}},
		{1, 6, []int{3, 3, 4}, ranges{{1, 2}, {5, 6}}},
		{1, 2, []int{3}, ranges{{1, 2}}}, // the third one is the job's last, and failed
		{1, 2, []int{5}, ranges{{1, 2}}},
		{4, 6, []int{3, 5}, ranges{{4, 4}, {6, 6}}},
		{1, 3, []int{0, 2}, ranges{{1, 1}, {3, 3}}},
	} {
		var list []inspect.AttemptEnd
		for _, n := range test.errors {
			list = append(list, inspect.AttemptEnd{Attempt: n})
		}
		if have := inspect.Unrecorded(test.first, test.last, list); !slices.Equal(have, test.want) {
			t.Errorf("%+v: %v", test, have)
		}
	}
}

// The way to the client's scope is not part of the client's API: Sealed promotes no exported field or method.
func TestClientShowsNothingOfItsScope(t *testing.T) {
	client := reflect.TypeFor[jobs.Client]()
	for i := range client.NumField() {
		if field := client.Field(i); field.IsExported() {
			t.Errorf("jobs.Client has the exported field %s", field.Name)
		}
	}
	for _, field := range reflect.VisibleFields(client) {
		if field.IsExported() {
			t.Errorf("jobs.Client promotes the exported field %s", field.Name)
		}
	}
	sealed, there := client.FieldByName("sealed") // the name of the alias
	if !there {
		t.Fatal("jobs.Client does not embed sealed")
	}
	if n := reflect.PointerTo(sealed.Type).NumMethod(); n > 0 {
		t.Errorf("%s has %d exported methods", sealed.Type, n)
	}
}
