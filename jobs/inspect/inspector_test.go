package inspect_test

import (
	"reflect"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// The access to the client's scope is not part of the client's API: Sealed promotes no exported field or method.
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
