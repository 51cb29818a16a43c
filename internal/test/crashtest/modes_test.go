//go:build unix

package crashtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	histories "github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
)

// Many processes enqueue with the same keys at once, again and again; then each round also has an enqueuer and a worker killed. A debounced
// job runs once for each burst, with the newest payload, at the time that was promised. No two runs of a key overlap, and each acknowledged
// enqueue is seen by a run that began after it.
func TestUniqueModesOfManyProcesses(t *testing.T) {
	onEachEngine(t, func(t *testing.T, address string, client *jobs.Client) {
		enqueuers, killed := 12, 40
		if (role{DB: address}).onPostgres() {
			enqueuers = 4
		}
		if testing.Short() {
			killed = 1
		}
		b := &bursts{t: t, address: address, client: client, answers: map[*process]*bufio.Scanner{}}
		for range enqueuers {
			b.enqueuers = append(b.enqueuers, b.start("modes"))
		}
		for range 3 {
			b.workers = append(b.workers, b.start("witness"))
		}
		const calm = 2
		for range calm {
			b.round(func() {})
		}
		for range killed {
			b.round(b.killer())
		}
		b.end(calm + killed)
	})
}

// bursts is the processes of such a test.
type bursts struct {
	t       *testing.T
	address string
	client  *jobs.Client
	answers map[*process]*bufio.Scanner // of enqueuers

	enqueuers, workers, all []*process
}

func (b *bursts) start(do string) *process {
	p := start(b.t, role{Do: do, DB: b.address, Name: fmt.Sprint(do, len(b.all)), Queues: map[string]int{"default": 4}})
	b.all = append(b.all, p)
	if do == "modes" {
		b.answers[p] = bufio.NewScanner(p.stdout)
	}
	return p
}

// round has all enqueuers enqueue at once, something happen meanwhile, and waits until all jobs have ended.
func (b *bursts) round(meanwhile func()) {
	for _, p := range b.enqueuers {
		_, err := fmt.Fprintln(p.stdin, 3)
		must(b.t, err)
	}
	asked := append([]*process(nil), b.enqueuers...)
	meanwhile()
	for _, p := range asked {
		if !b.answers[p].Scan() && !p.killed {
			b.t.Fatalf("%s has ended: %v\n%s", p.name, b.answers[p].Err(), p.stderr)
		}
	}
	for _, m := range modes() {
		eventually(b.t, "no job has the key "+m.key, func() bool {
			_, err := b.client.GetByUniqueKey(b.t.Context(), "witnessed", m.key)
			if err != nil && !errors.Is(err, jobs.ErrNotFound) {
				b.t.Fatal(err)
			}
			return err != nil
		})
	}
}

// killer chooses an enqueuer, before it is asked for the calls of a round, and returns what kills it after some of them.
func (b *bursts) killer() func() {
	i := rand.IntN(len(b.enqueuers))
	before, more := len(b.events(b.enqueuers[i])), rand.IntN(4*len(modes()))
	return func() { b.kill(i, before+more) }
}

// kill kills an enqueuer that has recorded a number of events, and then a worker, in the middle of a run if there is one; others take
// their places.
func (b *bursts) kill(i, events int) {
	victim, j := b.enqueuers[i], rand.IntN(len(b.workers))
	eventually(b.t, "the enqueuer has made some calls", func() bool { return len(b.events(victim)) >= events })
	victim.kill()
	eventually(b.t, "the worker runs a job, or no job is left", func() bool {
		open := 0
		for _, e := range b.events(b.workers[j]) {
			switch e.What {
			case histories.Start:
				open++
			case histories.Return:
				open--
			}
		}
		return open > 0 || b.idle()
	})
	b.workers[j].kill()
	b.enqueuers[i], b.workers[j] = b.start("modes"), b.start("witness")
}

// idle reports whether no job has a unique key.
func (b *bursts) idle() bool {
	for _, m := range modes() {
		if _, err := b.client.GetByUniqueKey(b.t.Context(), "witnessed", m.key); err == nil {
			return false
		}
	}
	return true
}

func (b *bursts) events(p *process) []histories.Event {
	b.t.Helper()
	list, err := histories.ReadFiles(p.history)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return list
}

// end ends all processes, and compares what they have recorded with each other and with the database.
func (b *bursts) end(rounds int) {
	t := b.t
	for _, p := range append(b.enqueuers, b.workers...) {
		p.release()
	}
	var events []histories.Event
	for _, p := range b.all {
		events = append(events, b.events(p)...)
	}
	var rows []histories.Row
	for _, job := range allJobs(t, b.client) {
		var w write
		must(t, json.Unmarshal(job.Payload, &w))
		rows = append(rows, histories.Row{ID: job.ID, Key: w.Key, Attempt: job.Attempt, Done: job.Status == jobs.StatusDone})
	}
	report := histories.Check(events, rows)
	for name, list := range map[string][]string{
		"lost": report.Lost, "unexpected": report.Unexpected, "doubled": report.Doubled, "stale": report.Stale, "unique": report.Unique, "older": report.Older,
	} {
		for i, text := range list {
			if i == 10 {
				t.Errorf("%s: and %d more", name, len(list)-i)
				break
			}
			t.Errorf("%s: %s", name, text)
		}
	}
	checkCounts(t, b.client)
	keys := len(modes()) - 1 // two have one key
	if report.Started < rounds*keys || report.Replaced < rounds*keys {
		t.Errorf("in %d rounds %d jobs were started and %d payloads replaced", rounds, report.Started, report.Replaced)
	}
	t.Logf("%d processes, %d rounds: %d jobs added, %d payloads replaced, %d calls of unknown outcome happened, %d jobs started %d times",
		len(b.all), rounds, report.Acked, report.Replaced, report.Recovered, report.Started, report.Starts)
}
