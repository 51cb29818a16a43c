package sql_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A row that plain SQL gives the largest id leaves none for new jobs. The next enqueue names the row and says what to do, and that helps.
func TestTheLargestIDIsNamed(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		w := worlds(t, e)(t)
		first, err := w.client.Enqueue(w.ctx, "k", []byte("{}"))
		w.must("enqueue", err)
		plant := "INSERT INTO sqluice_jobs (id, kind) VALUES (9007199254740991, 'planted')"
		if e.name == "postgres" {
			plant = strings.Replace(plant, "VALUES", "OVERRIDING SYSTEM VALUE VALUES", 1)
		}
		w.must("plant", w.exec(plant))
		_, err = w.client.Migrate(w.ctx) // which moves PostgreSQL's sequence past the row
		w.must("migrate", err)
		_, one := w.client.Enqueue(w.ctx, "k", []byte("{}"))
		_, many := w.client.EnqueueMany(w.ctx, "k", []json.RawMessage{[]byte("1"), []byte("2")})
		for what, err := range map[string]error{"an enqueue": one, "an enqueue of many": many} {
			if err == nil || !strings.Contains(err.Error(), "the row of sqluice_jobs with the id 9007199254740991") {
				t.Fatalf("%s gives %v", what, err)
			}
		}
		if e.name == "postgres" {
			w.must("delete the row", w.exec("DELETE FROM sqluice_jobs WHERE id = 9007199254740991"))
		}
		remedy := "UPDATE sqluice_jobs SET id = 1 + (SELECT MAX(id) FROM sqluice_jobs WHERE id < 9007199254740991) WHERE id = 9007199254740991"
		if e.name == "postgres" {
			remedy = "SELECT setval(pg_get_serial_sequence('sqluice_jobs', 'id'), (SELECT COALESCE(MAX(id), 1) FROM sqluice_jobs))"
		}
		if !strings.Contains(one.Error(), remedy) {
			t.Fatalf("%v does not say %s", one, remedy)
		}
		w.must("the remedy", w.exec(remedy))
		next, err := w.client.Enqueue(w.ctx, "k", []byte("{}"))
		if err != nil || next.ID <= first.ID || next.ID > first.ID+5 {
			t.Errorf("after the remedy an enqueue gives the id %d after %d: %v", next.ID, first.ID, err)
		}
	})
}
