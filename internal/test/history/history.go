// Package history checks the actions of several processes on a queue, in the way of Jepsen's total-queue test. Each
// process records in its own file its intentions, the answers and its actions. Afterwards all files are read together
// and compared with the promises.
package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// The kinds of events.
type What string

const (
	// Invoke, and then one of Acked, Refused and Unknown, belong to an enqueue, which Key names. A process that died left
	// only the Invoke, which is like Unknown. An Acked with Existed says that a job with the unique key existed, and with
	// Replaced also that it now has the payload and the options of the enqueue. With the mode Update they belong to a
	// change of a job.
	Invoke  What = "invoke"
	Acked   What = "acked"
	Refused What = "refused"
	Unknown What = "unknown"

	// Start is the call of an attempt's handler. Ok says that its completion was committed. Stale says that it was
	// refused, because another worker holds the job. Return says only that the handler returned and meant to complete
	// the job.
	Start  What = "start"
	Return What = "return"
	Ok     What = "ok"
	Stale  What = "stale"

	// Forgotten says that a user was forgotten, all of whose jobs had been enqueued before.
	Forgotten What = "forgotten"
)

// Mode says that the payload of a job may become another one, so that the key of its enqueue is not the one that it runs with.
type Mode string

const (
	Replace  Mode = "replace"  // of a unique key: a job that waits gets the newest payload
	Again    Mode = "again"    // and one more job runs after a running one
	Debounce Mode = "debounce" // and it runs when no enqueue has come for the time Quiet
	Open     Mode = "open"     // updates may follow; the job has no unique key
	Update   Mode = "update"   // a change of a job that was added in the mode Open
)

// Event is a line of a history. Times are in microseconds, by the machine's clock.
type Event struct {
	What    What   `json:"what"`
	Key     string `json:"key,omitempty"`    // of the job, from its enqueuer
	Unique  string `json:"unique,omitempty"` // the job's unique key
	Job     int64  `json:"job,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Existed bool   `json:"existed,omitempty"`
	Payload string `json:"payload,omitempty"` // its Digest: of the enqueued payload in an Invoke, of the handler's payload in a Start
	User    string `json:"user,omitempty"`    // of an Invoke and a Forgotten
	Process string `json:"process"`
	At      int64  `json:"at"`

	// Of an enqueue or a change whose payload may be replaced, and of the start of such a job.
	Mode     Mode  `json:"mode,omitempty"`     // of an Invoke
	Replaced bool  `json:"replaced,omitempty"` // of an Acked
	Priority int   `json:"priority,omitempty"` // of an Invoke: the requested one; of a Start: the job's
	Quiet    int64 `json:"quiet,omitempty"`    // of an Invoke with Debounce
	AtMost   int64 `json:"at_most,omitempty"`  // of an Invoke with Debounce; 0 for no bound
	Due      int64 `json:"due,omitempty"`      // of a Start: the time that stands in the row
	Created  int64 `json:"created,omitempty"`  // of a Start: when the row was added
	Claimed  int64 `json:"claimed,omitempty"`  // of a Start: it was claimed no earlier

	Limit *string `json:"limit,omitempty"` // of a Start: the limit key of the job
}

// Time returns the time of the event.
func (e Event) Time() time.Time { return time.UnixMicro(e.At) }

// Writer appends to a history.
type Writer struct {
	file    *os.File
	process string
}

// Append opens the history of a process, which outlives it: written lines are with the kernel.
func Append(path, process string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{file, process}, nil
}

// Write appends an event with the process's name and the time, in one write: lines of several goroutines do not mix.
func (w *Writer) Write(e Event) error {
	e.Process, e.At = w.process, time.Now().UnixMicro()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = w.file.Write(append(line, '\n'))
	return err
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// Read reads the whole lines of a history; a killed process may have left half a line at the end.
func Read(from io.Reader) ([]Event, error) {
	var list []Event
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		var e Event
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", len(list)+1, line, err)
		}
		list = append(list, e)
	}
}

// ReadFiles reads histories one after the other.
func ReadFiles(paths ...string) ([]Event, error) {
	var all []Event
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list, err := Read(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		all = append(all, list...)
	}
	return all, nil
}
