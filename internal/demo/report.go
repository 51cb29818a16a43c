package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// top is the number of lines of the tables.
const top = 8

// parsed is a file with its facts, as a job's payload and result have them.
type parsed struct {
	path string
	facts
}

// results reads the payloads and results of the jobs that are done.
func results(all []jobs.Job) ([]parsed, error) {
	var list []parsed
	for _, job := range all {
		if job.Status != jobs.StatusDone {
			continue
		}
		var f file
		if err := json.Unmarshal(job.Payload, &f); err != nil {
			return nil, fmt.Errorf("payload of job %d: %w", job.ID, err)
		}
		p := parsed{path: f.Path}
		if err := json.Unmarshal(job.Result, &p.facts); err != nil {
			return nil, fmt.Errorf("result of job %d: %w", job.ID, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// printThroughput measures from the start of the first attempt to the end of the last job.
func printThroughput(out io.Writer, all []jobs.Job) {
	var first, last time.Time
	for _, job := range all {
		if !job.StartedAt.IsZero() && (first.IsZero() || job.StartedAt.Before(first)) {
			first = job.StartedAt
		}
		if job.FinishedAt.After(last) {
			last = job.FinishedAt
		}
	}
	took := last.Sub(first)
	fmt.Fprintf(out, "\n%s jobs in %s: %s jobs/s, each with a file read, parsed and hashed.\n",
		count(len(all)), took.Round(time.Millisecond), count(int(float64(len(all))/max(took, 1).Seconds())))
}

func printResults(out io.Writer, list []parsed) {
	total := sum(list)
	fmt.Fprintf(out, "\nResults: %s files parsed, %s lines, %s functions, %s bytes\n",
		count(len(list)), count(total.Lines), count(total.Functions), count(total.Bytes))
	printPackages(out, list)
	printLargest(out, list)
}

func sum(list []parsed) facts {
	var total facts
	for _, p := range list {
		total.Lines += p.Lines
		total.Functions += p.Functions
		total.Bytes += p.Bytes
	}
	return total
}

func printPackages(out io.Writer, list []parsed) {
	folders := map[string][]parsed{}
	for _, p := range list {
		folder := path.Dir(p.path)
		folders[folder] = append(folders[folder], p)
	}
	type row struct {
		folder string
		files  int
		facts
	}
	var rows []row
	for folder, files := range folders {
		rows = append(rows, row{folder, len(files), sum(files)})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.folder, b.folder))
	})
	table := newTable(out, "LARGEST PACKAGES\tFILES\tLINES\tFUNCTIONS")
	for _, r := range rows[:min(top, len(rows))] {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", r.folder, count(r.files), count(r.Lines), count(r.Functions))
	}
	table.Flush()
}

func printLargest(out io.Writer, list []parsed) {
	list = slices.SortedFunc(slices.Values(list), func(a, b parsed) int {
		return cmp.Or(cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.path, b.path))
	})
	table := newTable(out, "LARGEST FILES\tPACKAGE\tLINES\tFUNCTIONS\tSHA-256")
	for _, p := range list[:min(top, len(list))] {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%.16s\n", p.path, p.Package, count(p.Lines), count(p.Functions), p.SHA256)
	}
	table.Flush()
}

// printFailed prints the queue's own report of failed jobs.
func (d *demo) printFailed(ctx context.Context, all []jobs.Job) error {
	report, err := inspect.New(d.client).FailedReport(ctx, inspect.FailedFilter{Limit: top})
	if err != nil {
		return err
	}
	failed := 0
	for _, job := range all {
		if job.Status == jobs.StatusFailed {
			failed++
		}
	}
	fmt.Fprintf(d.out, "\nFailed jobs: %d", failed)
	if failed == 0 {
		fmt.Fprintln(d.out)
		return nil
	}
	fmt.Fprintln(d.out, ", each with the parser's own message")
	table := newTable(d.out, "KIND\tJOBS\tEXAMPLE\tERROR")
	for _, g := range report.Groups {
		fmt.Fprintf(table, "  %s\t%d\t%d\t%s\n", g.Kind, g.Jobs, g.ExampleID, shorten(g.Error, 110))
	}
	table.Flush()
	return nil
}

func newTable(out io.Writer, head string) *tabwriter.Writer {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\n  %s\n", head)
	return table
}
