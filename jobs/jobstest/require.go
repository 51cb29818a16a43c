package jobstest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// RequireEnqueued returns the first job of a kind, whatever its status, for which match returns true; any job of the kind if match is nil.
// If there is none, it stops the test and lists the existing jobs of the kind. With a client inside a transaction (client.With(tx)) it sees
// the transaction's jobs. It works on any client.
func RequireEnqueued[T any](tb testing.TB, client *jobs.Client, kind jobs.Kind[T], match func(jobs.Job, T) bool) jobs.Job {
	tb.Helper()
	list := ofKind(tb, client, kind.Name)
	job, ok := first(tb, list, match)
	if !ok {
		tb.Fatalf("no job of kind %s matches%s", kind.Name, describe(list))
	}
	return job
}

// RequireNotEnqueued stops the test when there is a job of a kind for which match returns true; any job of the kind if match is nil.
func RequireNotEnqueued[T any](tb testing.TB, client *jobs.Client, kind jobs.Kind[T], match func(jobs.Job, T) bool) {
	tb.Helper()
	if job, ok := first(tb, ofKind(tb, client, kind.Name), match); ok {
		tb.Fatalf("a job of kind %s matches%s", kind.Name, describe([]jobs.Job{job}))
	}
}

// ofKind returns the jobs of a kind, oldest first.
func ofKind(tb testing.TB, client *jobs.Client, kind string) []jobs.Job {
	tb.Helper()
	var list []jobs.Job
	in := inspect.New(client.Revealed())
	for filter := (inspect.Filter{Kind: kind, Limit: inspect.MaxPage}); ; {
		page, err := in.ListPage(tb.Context(), filter)
		if err != nil {
			tb.Fatalf("jobstest: list jobs of kind %s: %v", kind, err)
		}
		list = append(list, page.Jobs...)
		if filter.After = page.Next; page.Next == 0 {
			break
		}
	}
	slices.Reverse(list)
	return list
}

func first[T any](tb testing.TB, list []jobs.Job, match func(jobs.Job, T) bool) (jobs.Job, bool) {
	tb.Helper()
	for _, job := range list {
		if match == nil {
			return job, true
		}
		args := new(T)
		if err := json.Unmarshal(job.Payload, args); err != nil {
			tb.Fatalf("jobstest: decode the payload of job %d as %T: %v", job.ID, *args, err)
		}
		if match(job, *args) {
			return job, true
		}
	}
	return jobs.Job{}, false
}

// describeMost is the largest number of jobs that a failure lists.
const describeMost = 20

func describe(list []jobs.Job) string {
	if len(list) == 0 {
		return ": there are none of this kind"
	}
	var text strings.Builder
	text.WriteString(":")
	for i, job := range list {
		if i == describeMost {
			fmt.Fprintf(&text, "\n  and %d more", len(list)-i)
			break
		}
		fmt.Fprintf(&text, "\n  job %d, %s, queue %s", job.ID, job.Status, job.Queue)
		if job.Status == jobs.StatusScheduled {
			fmt.Fprintf(&text, ", due %s", job.RunAfter.UTC().Format("2006-01-02 15:04:05Z"))
		}
		fmt.Fprintf(&text, ": %s", job.Payload)
	}
	return text.String()
}
