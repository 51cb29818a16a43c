package history

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// replaced returns a history without a fault. Job 1 is debounced: "b" replaces "a", and its worker dies. While it runs, "c" adds its
// successor, which "d", of unknown outcome, replaces. Job 3 is updated twice; the third update is refused, because it runs.
func replaced() ([]Event, []Row) {
	debounce := func(key string, at int64) Event {
		return Event{What: Invoke, Key: key, Unique: "u", Mode: Debounce, Quiet: 100, AtMost: 300, At: at}
	}
	update := func(key string, priority int, at int64) Event {
		return Event{What: Invoke, Key: key, Mode: Update, Job: 3, Priority: priority, At: at}
	}
	events := []Event{
		debounce("a", 10), {What: Acked, Key: "a", Job: 1, At: 14},
		debounce("b", 50), {What: Acked, Key: "b", Job: 1, Existed: true, Replaced: true, At: 54},
		{What: Start, Key: "b", Job: 1, Attempt: 1, Created: 12, Due: 152, Claimed: 155, At: 160},
		debounce("c", 170), {What: Acked, Key: "c", Job: 2, At: 174},
		debounce("d", 180),
		{What: Start, Key: "b", Job: 1, Attempt: 2, Created: 12, Due: 152, Claimed: 195, At: 200},
		{What: Return, Job: 1, Attempt: 2, At: 210}, {What: Ok, Job: 1, Attempt: 2, At: 212},
		{What: Start, Key: "d", Job: 2, Attempt: 1, Created: 172, Due: 282, Claimed: 290, At: 292},
		{What: Return, Job: 2, Attempt: 1, At: 295}, {What: Ok, Job: 2, Attempt: 1, At: 296},

		{What: Invoke, Key: "p", Mode: Open, At: 20}, {What: Acked, Key: "p", Job: 3, At: 22},
		update("q", 1, 24), {What: Acked, Key: "q", Job: 3, Existed: true, Replaced: true, At: 26},
		update("r", 2, 30), {What: Acked, Key: "r", Job: 3, Existed: true, Replaced: true, At: 32},
		{What: Start, Key: "r", Job: 3, Attempt: 1, Priority: 2, Created: 21, Due: 21, Claimed: 35, At: 40},
		update("s", 0, 42), {What: Refused, Key: "s", Job: 3, At: 44},
		{What: Return, Job: 3, Attempt: 1, At: 50},

		{What: Invoke, Key: "v", Unique: "w", Mode: Replace, At: 60}, {What: Acked, Key: "v", Job: 4, At: 62},
		{What: Start, Key: "v", Job: 4, Attempt: 1, Claimed: 64, At: 65},
		{What: Invoke, Key: "x", Unique: "w", Mode: Replace, At: 66}, {What: Acked, Key: "x", Job: 4, Existed: true, At: 68},
		{What: Return, Job: 4, Attempt: 1, At: 70}, {What: Ok, Job: 4, Attempt: 1, At: 71},
	}
	return events, []Row{
		{ID: 1, Key: "b", Attempt: 2, Done: true}, {ID: 2, Key: "d", Attempt: 1, Done: true}, {ID: 3, Key: "r", Attempt: 1, Done: true},
		{ID: 4, Key: "v", Attempt: 1, Done: true},
	}
}

func TestNothingIsFoundWherePayloadsAreReplaced(t *testing.T) {
	events, rows := replaced()
	want := Report{Acked: 4, Replaced: 1, Updated: 2, Refused: 1, Recovered: 1, Started: 4, Starts: 5}
	for range 20 {
		rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		if have := Check(events, rows); !reflect.DeepEqual(have, want) {
			t.Fatalf("the report is %+v", have)
		}
		if have := Check(events, nil); !reflect.DeepEqual(have, want) {
			t.Fatalf("the report by the events alone is %+v", have)
		}
	}
}

// change returns a plant that changes the events of a sort and a key or job.
func change(what What, key string, job int64, fn func(*Event)) func([]Event, []Row) ([]Event, []Row) {
	return func(events []Event, rows []Row) ([]Event, []Row) {
		for i := range events {
			if e := &events[i]; e.What == what && (e.Key == key || key == "") && (e.Job == job || job == 0) {
				fn(e)
			}
		}
		return events, rows
	}
}

// Each sort of violation by a replaced payload is planted, and is the only finding.
func TestPlantedViolationsOfReplacedPayloads(t *testing.T) {
	older := func(r Report) []string { return r.Older }
	lost := func(r Report) []string { return r.Lost }
	unexpected := func(r Report) []string { return r.Unexpected }
	unique := func(r Report) []string { return r.Unique }
	add := func(list ...Event) func([]Event, []Row) ([]Event, []Row) {
		return func(events []Event, rows []Row) ([]Event, []Row) { return append(events, list...), rows }
	}
	row := func(id int64, fn func(*Row)) func([]Event, []Row) ([]Event, []Row) {
		return func(events []Event, rows []Row) ([]Event, []Row) {
			fn(&rows[id-1])
			return events, rows
		}
	}
	runs := func(id, from, to int64) func([]Event, []Row) ([]Event, []Row) {
		return func(events []Event, rows []Row) ([]Event, []Row) {
			events = append(events, Event{What: Invoke, Key: "n", Unique: "u", Mode: Debounce, Quiet: 1, At: 165}, Event{What: Acked, Key: "n", Job: id, At: 166},
				Event{What: Start, Key: "n", Job: id, Attempt: 1, Created: 165, Due: 166, Claimed: from, At: from}, Event{What: Return, Job: id, Attempt: 1, At: to})
			return events, append(rows, Row{ID: id, Key: "n", Attempt: 1, Done: true})
		}
	}
	// Some cannot be planted without another one.
	more := map[string]int{"AddedBesideOneThatWaits": 1, "OlderAtTheClaim": 1, "FoundAndSeen": 1, "SeenByAnother": 2, "RanAtOnce": 1, "OlderUpdate": 1, "RefusedAndSeen": 1}
	for name, test := range map[string]struct {
		plant func([]Event, []Row) ([]Event, []Row)
		in    func(Report) []string
		says  string
	}{
		"OlderAtTheClaim": {change(Start, "b", 1, func(e *Event) {
			if e.Attempt == 1 {
				e.Key, e.Due = "a", 150
			}
		}), older, `attempt 1 of job 1 ran with "a", and had been given "b"`},
		"OlderUpdate": {change(Start, "r", 3, func(e *Event) { e.Key, e.Priority, e.Claimed = "q", 1, 0 }), older,
			`attempt 1, the last one of job 3, ran with "q", and not with "r", which is newer`},
		"OtherAtTheEnd": {row(1, func(r *Row) { r.Key = "a" }), older, `ran with "b", and the job has "a"`},
		"OtherPriority": {change(Start, "r", 3, func(e *Event) { e.Priority = 1 }), older, `"r" and priority 1, not 2`},
		"NotSeen": {add(Event{What: Invoke, Key: "n", Unique: "u", Mode: Again, At: 201}, Event{What: Acked, Key: "n", Job: 1, Existed: true, Replaced: true, At: 202}),
			lost, `"n" was acknowledged for job 1, and attempt 2, the last one of job 1, had begun before`},
		"RefusedAndSeen": {change(Start, "r", 3, func(e *Event) { e.Key, e.Priority = "s", 0 }), unexpected, `attempt 1 of job 3 ran with "s", which was refused`},
		"FoundAndSeen":   {change(Start, "v", 4, func(e *Event) { e.Key = "x" }), unexpected, `attempt 1 of job 4 ran with "x", which was not added`},
		"SeenByAnother":  {change(Acked, "v", 4, func(e *Event) { e.Job = 3 }), unexpected, `attempt 1 of job 4 ran with "v", which was acknowledged as job 3`},
		"AddedTwice":     {change(Acked, "b", 1, func(e *Event) { e.Existed, e.Replaced = false, false }), unexpected, "was added by 2 enqueues"},
		"Gone":           {func(e []Event, r []Row) ([]Event, []Row) { return e, r[:3] }, lost, "job 4, was acknowledged and is gone"},
		"NotDone":        {row(4, func(r *Row) { r.Done = false }), lost, "job 4, was acknowledged and is not done"},
		"NeverRun": {func(e []Event, r []Row) ([]Event, []Row) {
			return slices.DeleteFunc(e, func(e Event) bool { return e.Job == 4 && e.What != Acked }), r
		}, lost, "job 4, was acknowledged and was never run"},
		"DoneByNone": {func(e []Event, r []Row) ([]Event, []Row) {
			return slices.DeleteFunc(e, func(e Event) bool { return e.Job == 3 && e.What == Return }), r
		}, lost, "job 3, is done, and no handler of it has returned"},
		"NotAddedNorReplaced": {add(Event{What: Invoke, Key: "n", Unique: "u", Mode: Again, At: 203}, Event{What: Acked, Key: "n", Job: 1, Existed: true, At: 204}),
			lost, `"n" was not added because of job 1, and did not replace its payload either`},
		"FoundWhatHadEnded": {change(Invoke, "x", 0, func(e *Event) { e.At = 75 }), lost, `"x" was not added because of job 4, which attempt 1 had completed before`},
		"RanAtOnce":         {runs(5, 205, 208), unique, `job 1 and job 5 ran at once with the unique key "u"`},
		"AddedBesideOneThatWaits": {add(Event{What: Invoke, Key: "n", Unique: "u", Mode: Debounce, Quiet: 1, At: 180}, Event{What: Acked, Key: "n", Job: 5, At: 181},
			Event{What: Start, Key: "n", Job: 5, Attempt: 1, Due: 300, Claimed: 300, At: 300}, Event{What: Return, Job: 5, Attempt: 1, At: 301}),
			unique, `job 5 was added with "n" while job 2 waited with the unique key "u"`},
		"TooEarly":     {change(Start, "d", 2, func(e *Event) { e.Claimed = 280 }), older, "it ran 2 us too early"},
		"PastItsBound": {change(Start, "b", 1, func(e *Event) { e.Created = -200 }), older, "it may be put off by 300 us"},
		"TooLate": {change(Start, "b", 1, func(e *Event) {
			if e.Due, e.Claimed = 155, 155; e.Attempt == 2 {
				e.Claimed = 195
			}
		}), older, "101 us after the answer"},
		"TooSoonAfterAnother": {change(Invoke, "a", 0, func(e *Event) { e.At = 53 }), older, `only 99 us after "a" was enqueued`},
	} {
		t.Run(name, func(t *testing.T) {
			events, rows := replaced()
			events, rows = test.plant(events, rows)
			if name == "Gone" || name == "NeverRun" {
				events = slices.DeleteFunc(events, func(e Event) bool { return e.Key == "x" })
			}
			if name == "AddedBesideOneThatWaits" {
				rows = append(rows, Row{ID: 5, Key: "n", Attempt: 1, Done: true})
			}
			report := Check(events, rows)
			found := test.in(report)
			if !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, test.says) }) {
				t.Errorf("the report is %+v", report)
			}
			if report.Faults() != 1+more[name] {
				t.Errorf("there is more than what was planted: %+v", report)
			}
		})
	}
}
