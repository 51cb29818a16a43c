package model

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A difference that the comparison misses is one that the whole test misses.
func TestDifferences(t *testing.T) {
	at := start
	base := func() view {
		return view{
			Order: []int64{2, 1},
			Jobs: map[int64]jobs.Job{
				1: {ID: 1, Payload: json.RawMessage("{}"), Tags: []string{"a"}, RunAfter: at}, 2: {ID: 2, Timeout: time.Second},
			},
			Errors: map[int64][]inspect.AttemptEnd{1: {{Attempt: 1, Message: "bad"}}},
			Stats:  inspect.Stats{Jobs: map[jobs.Status]int64{jobs.StatusDone: 1}},
		}
	}
	change := func(id int64, change func(*jobs.Job)) func(*view) {
		return func(v *view) {
			j := v.Jobs[id]
			change(&j)
			v.Jobs[id] = j
		}
	}
	for name, c := range map[string]struct {
		change func(*view)
		want   []string
	}{
		"nothing":            {func(*view) {}, nil},
		"an empty list":      {func(v *view) { v.Queues = []inspect.QueueInfo{} }, nil},
		"the order":          {func(v *view) { v.Order = []int64{1, 2} }, []string{".Order[0] is 1, not 2", ".Order[1] is 2, not 1"}},
		"a space":            {change(1, func(j *jobs.Job) { j.Payload = json.RawMessage("{ }") }), []string{`.Jobs[1].Payload is "{ }", not "{}"`}},
		"no JSON for none":   {change(1, func(j *jobs.Job) { j.Result = json.RawMessage("") }), []string{`.Jobs[1].Result is "", not ""`}},
		"a tag":              {change(1, func(j *jobs.Job) { j.Tags = []string{"a", "b"} }), []string{".Jobs[1].Tags has 2 elements, not 1", `.Jobs[1].Tags[1] is too much: "b"`}},
		"another tag":        {change(1, func(j *jobs.Job) { j.Tags = []string{"b"} }), []string{`.Jobs[1].Tags[0] is "b", not "a"`}},
		"a microsecond":      {change(1, func(j *jobs.Job) { j.RunAfter = at.Add(time.Microsecond) }), []string{".Jobs[1].RunAfter is 2101-02-03 04:05:06.789013 +0000 UTC, not 2101-02-03 04:05:06.789012 +0000 UTC"}},
		"a zone":             {change(1, func(j *jobs.Job) { j.RunAfter = at.In(time.FixedZone("x", 60)) }), []string{".Jobs[1].RunAfter is 2101-02-03 04:06:06.789012 +0001 x, not 2101-02-03 04:05:06.789012 +0000 UTC"}},
		"a number":           {change(2, func(j *jobs.Job) { j.Timeout++ }), []string{".Jobs[2].Timeout is 1.000000001s, not 1s"}},
		"an error's message": {func(v *view) { v.Errors[1][0].Message = "worse" }, []string{`.Errors[1][0].Message is "worse", not "bad"`}},
		"a count":            {func(v *view) { v.Stats.Jobs[jobs.StatusDone] = 2 }, []string{".Stats.Jobs[done] is 2, not 1"}},
		"an element too few": {func(v *view) { v.Order = v.Order[:1] }, []string{".Order has 1 elements, not 2", ".Order[1] is missing: 1"}},
		"an entry too few":   {func(v *view) { delete(v.Stats.Jobs, jobs.StatusDone) }, []string{".Stats.Jobs[done] is missing: 1"}},
		"an entry too many":  {func(v *view) { v.Stats.Jobs[jobs.StatusFailed] = 0 }, []string{".Stats.Jobs[failed] is too much: 0"}},
	} {
		have := base()
		c.change(&have)
		if list := differences(have, base()); !slices.Equal(list, c.want) {
			t.Errorf("%s: %q, not %q", name, list, c.want)
		}
	}
}
