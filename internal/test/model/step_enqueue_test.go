package model

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
)

// enqueue adds one job.
func (m *machine) enqueue(t *rapid.T) {
	o, opts := m.order(t)
	payload, bad := payload(t)
	want, wantErr := m.model.enqueue(o, payload, bad)
	t.Logf("enqueue: %+v, %v", want, wantErr)
	each(m, "enqueue", want, wantErr, func(e *engine) (jobs.Receipt, error) {
		receipt, err := e.client.Enqueue(m.ctx, o.Kind, payload, opts...)
		if err == nil && !receipt.Existed && !want.Existed {
			m.learnJobs(e, []int64{want.ID}, []int64{receipt.ID})
		}
		receipt.ID = e.jobs.from(receipt.ID)
		return receipt, err
	})
}

// enqueueMany adds several jobs that are alike.
func (m *machine) enqueueMany(t *rapid.T) {
	o, opts := m.order(t)
	var payloads []json.RawMessage
	anyBad := false
	for range rapid.IntRange(0, 4).Draw(t, "payloads") {
		data, bad := payload(t)
		payloads = append(payloads, data)
		anyBad = anyBad || bad
	}
	want, wantErr := m.model.enqueueMany(o, payloads, anyBad)
	t.Logf("enqueue many: %v, %v", want, wantErr)
	each(m, "enqueue many", want, wantErr, func(e *engine) ([]int64, error) {
		ids, err := receipts.IDs(e.client.EnqueueMany(m.ctx, o.Kind, payloads, opts...))
		if err == nil && len(ids) == len(want) {
			m.learnJobs(e, want, ids)
		}
		for i := range ids {
			ids[i] = e.jobs.from(ids[i])
		}
		return ids, err
	})
}

// enqueueItems adds jobs of several kinds and options together.
func (m *machine) enqueueItems(t *rapid.T) {
	var items []item
	var theirs []jobs.Item
	for range rapid.IntRange(0, 5).Draw(t, "items") {
		it, opts := item{}, []jobs.EnqueueOption(nil)
		it.order, opts = m.order(t)
		for range rapid.IntRange(1, 2).Draw(t, "payloads") { // that one statement may add
			data, bad := payload(t)
			it.payload, it.bad = data, it.bad || bad
			items, theirs = append(items, it), append(theirs, jobs.NewItem(it.Kind, data, opts...))
		}
	}
	want, wantErr := m.model.enqueueItems(items)
	t.Logf("enqueue items: %+v, %v", want, wantErr)
	each(m, "enqueue items", want, wantErr, func(e *engine) ([]jobs.Receipt, error) {
		have, err := e.client.EnqueueItems(m.ctx, theirs)
		m.learnItems(e, want, have)
		for i := range have {
			have[i].ID = e.jobs.from(have[i].ID)
		}
		return have, err
	})
}

// learnItems learns the ids of the jobs that were added, in the order in which they were.
func (m *machine) learnItems(e *engine, want, have []jobs.Receipt) {
	added := map[int64]int64{}
	for i := range min(len(want), len(have)) {
		if !want[i].Existed && !have[i].Existed {
			added[want[i].ID] = have[i].ID
		}
	}
	for _, id := range slices.Sorted(maps.Keys(added)) {
		m.learnJobs(e, []int64{id}, []int64{added[id]})
	}
}

func (m *machine) learnJobs(e *engine, ours, theirs []int64) {
	for i := range ours {
		if !e.jobs.learn(ours[i], theirs[i]) {
			m.fault(e, "enqueue", "the id is not above all before it")
		}
	}
}

// payload draws a payload, and whether it must be refused.
func payload(t *rapid.T) (json.RawMessage, bool) {
	if seldom(t, "bad payload", 30) {
		return json.RawMessage(pick(t, "payload", badPayloads)), true
	}
	return text(t, "payload"), false
}

// order draws options and their meaning. Options that are not drawn are left out.
func (m *machine) order(t *rapid.T) (order, []jobs.EnqueueOption) {
	o := order{Job: jobs.Job{
		Kind: pick(t, "kind", kinds), Queue: jobs.DefaultQueue,
	}}
	setAttempts(&o.Job, 0)
	setTimeout(&o.Job, 0)
	var opts []jobs.EnqueueOption
	for _, name := range some(t, "options", []string{
		"MaxAttempts", "Queue", "Priority", "In", "RequestID", "At", "Timeout", "UserID", "Tags", "Metadata", "StartWithin",
	}, 0, 5) {
		opts = append(opts, m.option(t, name, &o))
	}
	if rapid.Bool().Draw(t, "unique") {
		opts = append(opts, m.uniqueOption(t, &o))
	}
	if o.unique.mode == debounce {
		var ok bool
		o.Metadata, ok = o.unique.noted(o.Metadata)
		o.bad = !ok || o.in != 0 || !o.at.IsZero()
	}
	if seldom(t, "bad option", 40) { // the last one of its sort counts
		o.bad = true
		opts = append(opts, m.badOption(t))
	}
	return o, opts
}

// option draws the value of one option and records its meaning in the order.
func (m *machine) option(t *rapid.T, name string, o *order) jobs.EnqueueOption {
	switch name {
	case "Queue":
		o.Queue = pick(t, name, queues)
		return jobs.Queue(o.Queue)
	case "Priority":
		o.Priority = pick(t, name, priorities)
		return jobs.Priority(o.Priority)
	case "In":
		o.in, o.at = pick(t, name, delays), time.Time{}
		return jobs.In(o.in)
	case "At":
		o.in, o.at = 0, m.model.now.Add(pick(t, name, append([]time.Duration{-time.Minute, -1}, delays...)))
		return jobs.At(o.at.In(time.FixedZone("far east", 14*60*60)))
	case "MaxAttempts":
		n := pick(t, name, attempts)
		setAttempts(&o.Job, n)
		return jobs.MaxAttempts(n)
	case "Timeout":
		d := pick(t, name, timeouts)
		setTimeout(&o.Job, d.Truncate(time.Microsecond))
		return jobs.Timeout(d)
	case "StartWithin":
		o.within = pick(t, name, []time.Duration{time.Hour, time.Microsecond, 1500, time.Second, time.Minute})
		return jobs.StartWithin(o.within)
	case "RequestID":
		o.RequestID = pick(t, name, keys)
		return jobs.RequestID(o.RequestID)
	case "UserID":
		o.UserID = pick(t, name, users)
		return jobs.UserID(o.UserID)
	case "Tags":
		o.Tags = rapid.SliceOfN(rapid.SampledFrom(tags), 1, 3).Draw(t, name)
		return jobs.Tags(o.Tags...)
	default:
		v := value(t, name)
		o.Metadata = encoded(v)
		return jobs.Metadata(v)
	}
}

// uniqueOption draws a unique key and the mode of an enqueue when it is taken.
func (m *machine) uniqueOption(t *rapid.T, o *order) jobs.EnqueueOption {
	o.UniqueKey = pick(t, "unique key", keys)
	taken := m.model.having(func(j *job) bool { return j.Status == jobs.StatusRunning && j.UniqueKey != "" })
	if len(taken) == 0 || rapid.Bool().Draw(t, "also of a job that waits") {
		taken = m.model.having(func(j *job) bool { return j.live() && j.UniqueKey != "" })
	}
	if len(taken) > 0 && rapid.Bool().Draw(t, "a key that is taken") {
		j := m.model.job(pick(t, "job that has it", idsOf(taken)))
		o.Kind, o.UniqueKey = j.Kind, j.UniqueKey
	}
	o.unique.mode = pick(t, "unique mode", []uniqueMode{keep, runAgain, replace, debounce, runAgain, debounce, forAPeriod, supersede})
	switch o.unique.mode {
	case replace:
		return jobs.UniqueReplace(o.UniqueKey)
	case runAgain:
		return jobs.UniqueAgain(o.UniqueKey)
	case supersede:
		return jobs.UniqueReplaceRunning(o.UniqueKey)
	case debounce:
		o.unique.quiet = pick(t, "quiet time", periods)
		if rapid.Bool().Draw(t, "with a bound") {
			o.unique.atMost = o.unique.quiet + pick(t, "longer than the quiet time", append([]time.Duration{0}, periods...))
		}
		return jobs.Debounce(o.UniqueKey, o.unique.quiet, jobs.AtMost(o.unique.atMost))
	case forAPeriod:
		o.unique.period = pick(t, "period", periods)
		return jobs.UniqueFor(o.UniqueKey, o.unique.period)
	default:
		return jobs.Unique(o.UniqueKey)
	}
}

// value draws a Go value that is encoded to JSON.
func value(t *rapid.T, label string) any {
	return pick(t, label, []any{1, "<&> \u2028", map[string]any{"b": 1.5, "a": nil}, json.RawMessage(` [ 1e400 ,"\u0041" ] `)})
}

// badOption draws an option that is refused.
func (m *machine) badOption(t *rapid.T) jobs.EnqueueOption {
	return pick(t, "bad option", []func() jobs.EnqueueOption{
		func() jobs.EnqueueOption { return jobs.Queue("\n") },
		func() jobs.EnqueueOption { return jobs.Priority(jobs.MaxPriority + 1) },
		func() jobs.EnqueueOption { return jobs.In(-1) },
		func() jobs.EnqueueOption { return jobs.At(m.model.now.Add(-time.Minute - 1)) },
		func() jobs.EnqueueOption { return jobs.At(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) },
		func() jobs.EnqueueOption { return jobs.MaxAttempts(-1) },
		func() jobs.EnqueueOption { return jobs.Timeout(1) },
		func() jobs.EnqueueOption { return jobs.StartBy(m.model.now) },
		func() jobs.EnqueueOption { return jobs.StartWithin(-1) },
		func() jobs.EnqueueOption { return jobs.Unique("a\x00") },
		func() jobs.EnqueueOption { return jobs.Debounce("u", 999) },
		func() jobs.EnqueueOption { return jobs.Debounce("u", time.Hour, jobs.AtMost(time.Minute)) },
		func() jobs.EnqueueOption { return jobs.UniqueFor("u", -1) },
		func() jobs.EnqueueOption { return jobs.RequestID("\n") },
		func() jobs.EnqueueOption { return jobs.UserID("\xff") },
		func() jobs.EnqueueOption { return jobs.Tags("a\n") },
		func() jobs.EnqueueOption { return jobs.Metadata("\x00") },
	})()
}
