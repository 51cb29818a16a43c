//go:build unix

package crashtest

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// mark is the payload of the jobs of one call of an enqueuer: the enqueuer's name and the call's number. The enqueuer's
// history records the outcome of each call: "added" for every job with an id, "refused" when it failed, "unknown" when
// its outcome is not known.
type mark struct {
	By string `json:"by"`
	N  int    `json:"n"`
}

// size returns the number of jobs that the call adds: one and ten take turns.
func (m mark) size() int {
	if m.N%2 == 0 {
		return 1
	}
	return 10
}

// enqueue adds jobs, one and ten at a time, and records the id of each one after it was acknowledged.
func (r role) enqueue(ctx context.Context, client *jobs.Client) error {
	h, err := openHistory(r.History)
	if err != nil {
		return err
	}
	for n, added := 1, 0; r.Jobs == 0 || added < r.Jobs; n++ {
		ids, err := (mark{r.Name, n}).enqueue(ctx, client)
		switch {
		case errors.Is(err, jobs.ErrUnknownOutcome):
			err = h.write("unknown", 0, n)
		case err != nil && engine.StoreOf(client.Store()).CanRetry(err):
			fmt.Fprintf(os.Stderr, "call %d: %v\n", n, err)
			err = h.write("refused", 0, n)
			time.Sleep(10 * time.Millisecond) // like callers whose server may be away
		}
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := h.write("added", id, n); err != nil {
				return err
			}
		}
		added += len(ids)
	}
	return nil
}

func (m mark) enqueue(ctx context.Context, client *jobs.Client) ([]int64, error) {
	payload, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if m.size() == 1 {
		receipt, err := client.Enqueue(ctx, "quick", payload)
		if err != nil {
			return nil, err
		}
		return []int64{receipt.ID}, nil
	}
	payloads := make([]json.RawMessage, m.size())
	for i := range payloads {
		payloads[i] = payload
	}
	return receipts.IDs(client.EnqueueMany(ctx, "quick", payloads))
}

// ask enqueues a job for each line of standard input, every other one in a separate transaction, and prints its id and
// the time of its acknowledgement.
func (r role) ask(ctx context.Context, client *jobs.Client) error {
	conn, err := pgx.Connect(ctx, r.DB)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for n := 0; lines.Scan(); n++ {
		var receipt jobs.Receipt
		if n%2 == 0 {
			receipt, err = client.Enqueue(ctx, "quick", json.RawMessage("{}"))
		} else {
			err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				receipt, err = client.With(postgres.Tx(tx)).Enqueue(ctx, "quick", json.RawMessage("{}"))
				return err
			})
		}
		if err != nil {
			return err
		}
		fmt.Println(receipt.ID, time.Now().UnixMicro())
	}
	return errors.Join(lines.Err(), conn.Close(ctx))
}

// insert adds a job by plain SQL, as any program can, for each line of standard input, and prints its id.
func (r role) insert() error {
	statement, err := os.ReadFile("testdata/insert_job.sql")
	if err != nil {
		return err
	}
	pool, err := sql.Open("sqlite", "file:"+r.DB+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var id int64
		if err := pool.QueryRow(string(statement)).Scan(&id); err != nil {
			return err
		}
		fmt.Println(id, time.Now().UnixMicro())
	}
	return errors.Join(lines.Err(), pool.Close())
}

// tally is the enqueuers' record, in calls, without the acknowledged jobs.
type tally struct {
	added            []int64
	refused, unknown int
}

// checkEnqueues compares the enqueuers' record with the jobs in the database: every acknowledged job is there, no job
// of a failed call is, and jobs that were enqueued together are there together and once.
func checkEnqueues(t *testing.T, client *jobs.Client, enqueuers []*process) tally {
	t.Helper()
	there := map[mark][]int64{}
	for _, job := range allJobs(t, client) {
		var m mark
		must(t, json.Unmarshal(job.Payload, &m))
		there[m] = append(there[m], job.ID)
	}
	for m, ids := range there {
		if len(ids) != m.size() {
			t.Errorf("call %d of %s was to add %d jobs, and there are %d: %v", m.N, m.By, m.size(), len(ids), ids)
		}
	}
	var sum tally
	for _, p := range enqueuers {
		for _, e := range p.events() {
			m := mark{p.name, e.number}
			switch e.what {
			case "added":
				sum.added = append(sum.added, e.job)
				if !slices.Contains(there[m], e.job) {
					t.Errorf("job %d of call %d of %s was acknowledged and is lost; of that call there are %v", e.job, m.N, m.By, there[m])
				}
			case "refused":
				sum.refused++
				if len(there[m]) > 0 {
					t.Errorf("call %d of %s failed, and yet there are %v", m.N, m.By, there[m])
				}
			case "unknown":
				sum.unknown++
			}
		}
	}
	return sum
}

// allJobs lists every job of the queue that enqueuers use, whatever its status.
func allJobs(t *testing.T, client *jobs.Client) []jobs.Job {
	t.Helper()
	var list []jobs.Job
	for after := int64(0); ; {
		page, err := inspect.New(client).List(t.Context(), inspect.Filter{Queue: jobs.DefaultQueue, After: after, Limit: inspect.MaxPage})
		must(t, err)
		if len(page) == 0 {
			return list
		}
		list = append(list, page...)
		after = page[len(page)-1].ID
	}
}

// checkDone checks that every job is done, and returns their number.
func checkDone(t *testing.T, client *jobs.Client) int {
	t.Helper()
	checkCounts(t, client)
	list := allJobs(t, client)
	for _, job := range list {
		if job.Status != jobs.StatusDone {
			t.Errorf("job %d is %s after %d attempts: %s", job.ID, job.Status, job.Attempt, job.LastError)
		}
	}
	return len(list)
}

// checkCounts checks that the counts of ended jobs equal a recount, whatever was killed meanwhile.
func checkCounts(t *testing.T, client *jobs.Client) {
	t.Helper()
	wrong, err := inspect.New(client).Recount(t.Context())
	if err != nil || wrong != 0 {
		t.Errorf("%d counts of jobs are wrong, %v", wrong, err)
	}
}
