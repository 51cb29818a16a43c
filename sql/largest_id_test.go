package sql_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A row that plain SQL gives one of the largest ids leaves few or none for new jobs. The next enqueue names the row and says what to do, and
// that helps, also where there is no other row.
func TestTheLargestIDIsNamed(t *testing.T) {
	const largest = 9007199254740991
	onEachEngine(t, func(t *testing.T, e engine) {
		make := worlds(t, e)
		for _, planted := range []int64{largest, largest - 1} {
			for _, others := range []int{0, 1} {
				t.Run(fmt.Sprintf("%d beside %d", planted, others), func(t *testing.T) {
					w := make(t)
					add := func() (int64, error) {
						receipt, err := w.client.Enqueue(w.ctx, "k", []byte("{}"))
						return receipt.ID, err
					}
					for range others {
						_, err := add()
						w.must("enqueue", err)
					}
					plant := fmt.Sprintf("INSERT INTO sqluice_jobs (id, kind) VALUES (%d, 'planted')", planted)
					if e.name == "postgres" {
						plant = strings.Replace(plant, "VALUES", "OVERRIDING SYSTEM VALUE VALUES", 1)
					}
					w.must("plant", w.exec(plant))
					_, err := w.client.Migrate(w.ctx) // which moves PostgreSQL's sequence past the row
					w.must("migrate", err)
					for range largest - planted {
						_, err := add()
						w.must("enqueue with the last ids", err)
					}
					_, one := add()
					_, many := w.client.EnqueueMany(w.ctx, "k", []json.RawMessage{[]byte("1"), []byte("2")})
					for what, err := range map[string]error{"an enqueue": one, "an enqueue of many": many} {
						if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the row of sqluice_jobs with the id %d", int64(largest))) {
							t.Fatalf("%s gives %v", what, err)
						}
					}
					_, remedy, said := strings.Cut(one.Error(), "smaller ids: ")
					remedy, _, ended := strings.Cut(remedy, "'running' (")
					if !said || !ended {
						t.Fatalf("%v has no remedy", one)
					}
					for statement := range strings.SplitSeq(remedy+"'running'", "; ") {
						w.must(statement, w.exec(statement))
					}
					_, err = w.client.Migrate(w.ctx)
					w.must("migrate again", err)
					next, err := add()
					if err != nil || next > 10 {
						t.Errorf("after the remedy an enqueue gives the id %d: %v", next, err)
					}
				})
			}
		}
	})
}
