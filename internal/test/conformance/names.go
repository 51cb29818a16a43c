package conformance

import (
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A name is unknown that nothing in the database has. Whatever has a name makes it known, and similar ones are found by it.
func testUnknownNames(f *fixture) {
	in := inspect.New(f.client)
	check := func(when string, kinds, queues []string, wanted ...inspect.UnknownName) {
		f.Helper()
		list, err := in.UnknownNames(f.ctx, kinds, queues)
		f.must(err)
		want(f, "unknown names "+when, len(list), len(wanted))
		for i := range min(len(list), len(wanted)) {
			want(f, "unknown name "+when, list[i], wanted[i])
		}
	}
	kind := func(name, nearest string) inspect.UnknownName {
		return inspect.UnknownName{Field: "kind", Name: name, Nearest: nearest}
	}
	queue := func(name, nearest string) inspect.UnknownName {
		return inspect.UnknownName{Field: "queue", Name: name, Nearest: nearest}
	}
	check("in an empty database", []string{"mail"}, []string{"letters"})

	_, err := f.client.Enqueue(f.ctx, "mail", json.RawMessage("1"), jobs.Queue("letters"))
	f.must(err)
	check("beside a job", []string{"mail", "mial", "", "fax", "mial"}, []string{jobs.DefaultQueue, "letters", "leters", "a\x01"},
		kind("mial", "mail"), kind("fax", ""), queue("leters", "letters"))

	_, err = f.client.PauseKind(f.ctx, "paused-queue", "paused-kind")
	f.must(err)
	_, err = in.SetRetention(f.ctx, inspect.RetentionRule{Kind: "kept-kind", Queue: "kept-queue", Status: jobs.StatusDone, Keep: time.Hour})
	f.must(err)
	f.must(in.MarkSensitive(f.ctx, "marked-kind", "*"))
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@daily", "scheduled-kind", json.RawMessage("1"), jobs.Queue("scheduled-queue"))))
	worked := f.start(jobs.Config{Queues: map[string]int{"worked-queue": 1}}, on("worked-kind", nothing))
	f.eventually("the worker is registered", func() bool {
		workers, err := in.Workers(f.ctx)
		f.must(err)
		return len(workers) > 0
	})
	f.must(worked.stop()) // its row stays for a day
	check("that the database has",
		[]string{"mail", "paused-kind", "kept-kind", "marked-kind", "scheduled-kind", "worked-kind"},
		[]string{"letters", "paused-queue", "kept-queue", "scheduled-queue", "worked-queue"})
	check("beside all of them", []string{"worked-knid"}, []string{"worked-queu"}, kind("worked-knid", "worked-kind"), queue("worked-queu", "worked-queue"))
}
