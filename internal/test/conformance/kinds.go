package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// kindTests cover kinds that change: their name, or the form of their payload.
var kindTests = []test{
	{"Aliases", testAliases},
	{"AliasesTaken", testAliasesTaken},
	{"Upgrade", testUpgrade},
	{"UpgradeFails", testUpgradeFails},
	{"NewerVersion", testNewerVersion},
	{"VersionOfASchedule", testVersionOfASchedule},
}

func testAliases(f *fixture) {
	old := f.enqueue("old name")
	older := f.enqueue("older name")
	kind := jobs.Kind[json.RawMessage]{Name: "name", Aliases: []string{"old name", "older name"}}
	receipt, err := kind.Enqueue(f.ctx, f.client, json.RawMessage("{}"))
	f.must(err)
	ran := map[int64]string{}
	f.drain(jobs.Config{Queues: map[string]int{"default": 1}}, onKind(kind, func(_ context.Context, job jobs.Job) error {
		ran[job.ID] = job.Kind
		return nil
	}))
	want(f, "what ran", fmt.Sprint(ran), fmt.Sprint(map[int64]string{old: "old name", older: "older name", receipt.ID: "name"}))
}

func testAliasesTaken(f *fixture) {
	kind := jobs.Kind[json.RawMessage]{Name: "name", Aliases: []string{"other"}}
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, `"other"`) {
			f.Errorf("two handlers for one name: %s", text)
		}
	}()
	f.runner(f.client, jobs.Config{}, on("other", nothing), onKind(kind, nothing))
}

// person is a payload whose form has changed twice.
type person struct {
	First, Last string
}

// personKind returns the kind by its newest version. Version 1 has the field Name in place of First and Last, version 0 is a text.
func personKind() jobs.Kind[person] {
	return jobs.Kind[person]{Name: "k", Version: 2, RetryDelay: jobs.FixedRetry(0), MaxAttempts: 1,
		Upgrade: func(from int, payload json.RawMessage) (json.RawMessage, error) {
			var name string
			switch from {
			case 0:
				if err := json.Unmarshal(payload, &name); err != nil {
					return nil, err
				}
			case 1:
				var old struct{ Name string }
				if err := json.Unmarshal(payload, &old); err != nil {
					return nil, err
				}
				name = old.Name
			}
			first, last, two := strings.Cut(name, " ")
			if !two {
				return nil, errors.New("it has no last name")
			}
			return json.Marshal(person{first, last})
		}}
}

func testUpgrade(f *fixture) {
	_, err := jobs.Kind[string]{Name: "k"}.Enqueue(f.ctx, f.client, "Ada Lovelace")
	f.must(err)
	_, err = jobs.Kind[struct{ Name string }]{Name: "k", Version: 1}.Enqueue(f.ctx, f.client, struct{ Name string }{"Alan Turing"}, jobs.Metadata(map[string]int{"m": 1}))
	f.must(err)
	receipts, err := personKind().EnqueueMany(f.ctx, f.client, []person{{"Grace", "Hopper"}})
	f.must(err)
	var have []string
	runner := f.runner(f.client, jobs.Config{Queues: map[string]int{"default": 1}})
	personKind().Handle(runner, func(_ context.Context, job jobs.Job, p person) error {
		have = append(have, p.Last+" "+p.First)
		return nil
	})
	f.must(runner.Drain(f.ctx))
	want(f, "the payloads", fmt.Sprint(have), "[Lovelace Ada Turing Alan Hopper Grace]")
	want(f, "the metadata", sameJSON(f.get(receipts[0].ID).Metadata, `{"`+jobs.VersionField+`":2}`), true)
	if _, err := personKind().Enqueue(f.ctx, f.client, person{}, jobs.Metadata([]int{1})); err == nil || !strings.Contains(err.Error(), "be an object") {
		f.Errorf("metadata that are no object: %v", err)
	}
	wantInvalid(f, "a negative version", func() error {
		_, err := jobs.Kind[int]{Name: "k", Version: -1}.Enqueue(f.ctx, f.client, 1)
		return err
	}())
}

func testUpgradeFails(f *fixture) {
	receipt, err := jobs.Kind[string]{Name: "k"}.Enqueue(f.ctx, f.client, "Plato", jobs.MaxAttempts(1))
	f.must(err)
	runner := f.runner(f.client, jobs.Config{})
	personKind().Handle(runner, func(context.Context, jobs.Job, person) error { return nil })
	f.must(runner.Drain(f.ctx))
	want(f, "status", f.get(receipt.ID).Status, jobs.StatusFailed)
	f.wantError(receipt.ID, jobs.CauseDecode, "upgrade payload from version 0 to 2: it has no last name")
}

// A payload of a newer version waits for a newer program, at no cost. A kind without a version has the version 0.
func testNewerVersion(f *fixture) {
	newer := personKind()
	newer.Version = 3
	for _, c := range []struct {
		older jobs.Kind[json.RawMessage]
		want  string
	}{
		{jobs.Kind[json.RawMessage]{Name: "k", Version: 2}, `the payload has version 3, and the worker's program knows the kind "k" up to version 2`},
		{jobs.Kind[json.RawMessage]{Name: "k"}, `the payload has version 3, and the worker's program knows the kind "k" up to version 0`},
	} {
		receipt, err := newer.Enqueue(f.ctx, f.client, person{"Emmy", "Noether"}, jobs.MaxAttempts(1))
		f.must(err)
		f.must(f.runner(f.client, jobs.Config{}, onKind(c.older, f.uncalled)).Drain(f.ctx))
		f.wantUnable(receipt.ID, c.want)
		var got person
		f.dueNow(receipt.ID)
		runner := f.runner(f.client, jobs.Config{})
		newer.Handle(runner, func(_ context.Context, job jobs.Job, p person) error {
			got = p
			want(f, "the version of the payload", job.PayloadVersion(), 3)
			return nil
		})
		f.must(runner.Drain(f.ctx))
		want(f, "what a newer program got", got, person{"Emmy", "Noether"})
		want(f, "status", f.get(receipt.ID).Status, jobs.StatusDone)
	}
}

func testVersionOfASchedule(f *fixture) {
	f.must(f.client.PutSchedule(f.ctx, personKind().Every("s", time.Hour, person{"Max", "Planck"})))
	id, err := f.client.RunSchedule(f.ctx, "s")
	f.must(err)
	if job := f.get(id); !strings.Contains(string(job.Metadata), jobs.VersionField) || job.Schedule() != "s" {
		f.Errorf("the metadata are %s", job.Metadata)
	}
}
