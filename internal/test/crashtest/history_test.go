//go:build unix

package crashtest

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// history is the file that a process appends to. A written line outlives the process that wrote it.
type history struct{ file *os.File }

func openHistory(path string) (*history, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return &history{file}, err
}

func (h *history) note(what string, job jobs.Job) error { return h.write(what, job.ID, job.Attempt) }

func (h *history) write(what string, job int64, number int) error {
	_, err := fmt.Fprintf(h.file, "%s %d %d %d\n", what, job, number, time.Now().UnixMicro())
	return err
}

// event is a line of a history.
type event struct {
	what   string
	job    int64
	number int // of the attempt, or of an enqueuer's call
	at     time.Time
}

// readHistory reads the whole lines of a history; a killed process may have left half a line.
func readHistory(t *testing.T, path string) []event {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	var events []event
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e event
		var us int64
		_, err := fmt.Sscan(string(line), &e.what, &e.job, &e.number, &us)
		must(t, err)
		e.at = time.UnixMicro(us)
		events = append(events, e)
	}
	return events
}

// only returns the events of one sort and attempt.
func only(events []event, what string, attempt int) []event {
	var list []event
	for _, e := range events {
		if e.what == what && e.number == attempt {
			list = append(list, e)
		}
	}
	return list
}

// every returns the events of a kind, of any attempt.
func every(events []event, what string) []event {
	var list []event
	for _, e := range events {
		if e.what == what {
			list = append(list, e)
		}
	}
	return list
}

// checkOnce reports when n jobs did not each run once: claims that were released before the handler was called are no
// runs.
func checkOnce(t *testing.T, events []event, n int) {
	t.Helper()
	if starts, done := len(every(events, "start")), len(every(events, "done")); starts != n || done != n {
		t.Errorf("%d jobs were started %d times and done %d times", n, starts, done)
	}
}

// checkStarts reports attempts that were started more than once, over all processes, and returns the number of started
// jobs.
func checkStarts(t *testing.T, events []event) int {
	t.Helper()
	type attempt struct {
		job    int64
		number int
	}
	starts, started := map[attempt]int{}, map[int64]bool{}
	for _, e := range events {
		if e.what == "start" {
			starts[attempt{e.job, e.number}]++
			started[e.job] = true
		}
	}
	for a, n := range starts {
		if n != 1 {
			t.Errorf("attempt %d of job %d was started %d times", a.number, a.job, n)
		}
	}
	return len(started)
}
