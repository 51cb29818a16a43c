//go:build linux

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// errNotHere marks a lane that this machine cannot run, for example without a server.
var errNotHere = errors.New("not tested here")

// row is a line of the table.
type row struct {
	lane    lane
	trial   *trial
	err     error
	skipped error
	took    time.Duration
}

// add adds another round of the same lane on the same engine.
func (r *row) add(other row) {
	r.err, r.skipped, r.took = errors.Join(r.err, other.err), cmp.Or(r.skipped, other.skipped), r.took+other.took
	r.trial.count(other.trial.jobs, other.trial.faults)
	r.trial.find(other.trial.found)
	r.trial.pickups = append(r.trial.pickups, other.trial.pickups...)
}

// code returns the exit code of the row. Where CI=true everything must be tested. A lane without jobs or faults proves
// nothing.
func (r row) code() int {
	switch {
	case r.err != nil, r.skipped != nil && os.Getenv("CI") == "true":
		return 2
	case r.trial.found.count() > 0:
		return 1
	case r.skipped == nil && r.empty():
		return 2
	}
	return 0
}

func (r row) empty() bool { return r.trial.jobs == 0 || r.trial.faults == 0 }

func (t tally) count() int { return len(t.lost) + len(t.doubled) + len(t.stale) + len(t.other) }

// shown is the number of faults of each sort that are printed in full.
const shown = 20

// printWrong prints the faults found, and why the lane did not finish.
func (r row) printWrong(out io.Writer) {
	t := r.trial
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sort := range []struct {
		name string
		list []string
	}{{"LOST", t.found.lost}, {"DOUBLED", t.found.doubled}, {"STALE", t.found.stale}, {"FAULT", t.found.other}} {
		for i, text := range sort.list {
			if i == shown {
				fmt.Fprintf(out, "... and %d more\n", len(sort.list)-shown)
				break
			}
			fmt.Fprintf(out, "%s: lane %d on %s: %s\n", sort.name, r.lane.number, t.engine, text)
		}
	}
	if r.err != nil {
		fmt.Fprintf(out, "error: lane %d on %s: %v\n", r.lane.number, t.engine, r.err)
	}
}

func printTable(out io.Writer, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "lane\tengine\tjobs\tfaults\tlost\tdoubled\tstale accepted\tother\tpick-up p50\tp99\ttook\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%d %s\t%s\t", r.lane.number, r.lane.name, r.trial.engine)
		if r.skipped != nil {
			fmt.Fprintf(w, "%v\t\n", r.skipped)
			continue
		}
		f := r.trial.found
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t", r.trial.jobs, r.trial.faults, len(f.lost), len(f.doubled), len(f.stale), len(f.other),
			percentile(r.trial.pickups, 50), percentile(r.trial.pickups, 99), r.took.Round(time.Second))
		switch {
		case r.err != nil:
			fmt.Fprint(w, "NOT FINISHED\t")
		case r.empty():
			fmt.Fprint(w, "NOTHING DONE\t")
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
}

// percentile formats a percentile of durations, and a dash without any.
func percentile(list []time.Duration, p int) string {
	if len(list) == 0 {
		return "-"
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, len(list)*p/100)].Round(time.Millisecond).String()
}
