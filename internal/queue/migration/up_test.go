package migration

import (
	"testing"
	"testing/fstest"
)

func TestUp(t *testing.T) {
	for text, want := range map[string]string{
		"-- +goose Up\nA;\nB;\n\n-- +goose Down\nC;\n": "A;\nB;",
		"-- +goose Up\nA;\n":                           "A;",
		"-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY i;\n-- +goose Down\nDROP INDEX i;": "CREATE INDEX  i;",
	} {
		s, err := Read(fstest.MapFS{"00001_a.sql": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		if up, err := s.Up(s.All()[0]); up != want || err != nil {
			t.Errorf("%q has the statements %q, %v", text, up, err)
		}
	}
	s, err := Read(fstest.MapFS{"00001_a.sql": {Data: []byte("A;")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Up(s.All()[0]); err == nil {
		t.Error("a file without the mark gives no error")
	}
	if _, err := s.Up(Migration{Name: "gone.sql"}); err == nil {
		t.Error("a file that is not there gives no error")
	}
}
