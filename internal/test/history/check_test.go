package history

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// good returns a history of three jobs without a fault: the second ran twice, because its first worker died and a
// zombie's completion was refused, and the outcome of the third's enqueue was never known.
func good() ([]Event, []Row) {
	events := []Event{
		{What: Invoke, Key: "one", Unique: "u", Process: "e", At: 10},
		{What: Acked, Key: "one", Job: 1, Process: "e", At: 12},
		{What: Start, Key: "one", Job: 1, Attempt: 1, Process: "a", At: 20},
		{What: Return, Job: 1, Attempt: 1, Process: "a", At: 25},
		{What: Ok, Job: 1, Attempt: 1, Process: "a", At: 30},

		{What: Invoke, Key: "two", Unique: "u", Process: "e", At: 31},
		{What: Acked, Key: "two", Job: 2, Process: "e", At: 32},
		{What: Start, Key: "two", Job: 2, Attempt: 1, Process: "a", At: 33},
		{What: Start, Key: "two", Job: 2, Attempt: 2, Process: "b", At: 50},
		{What: Stale, Job: 2, Attempt: 1, Process: "a", At: 55},
		{What: Return, Job: 2, Attempt: 2, Process: "b", At: 58},
		{What: Ok, Job: 2, Attempt: 2, Process: "b", At: 60},

		{What: Invoke, Key: "three", Process: "f", At: 40},
		{What: Start, Key: "three", Job: 3, Attempt: 1, Process: "b", At: 41},
		{What: Ok, Job: 3, Attempt: 1, Process: "b", At: 42},

		{What: Invoke, Key: "four", Process: "f", At: 43},
		{What: Unknown, Key: "four", Process: "f", At: 44},
		{What: Invoke, Key: "five", Process: "f", At: 45},
		{What: Refused, Key: "five", Process: "f", At: 46},
		{What: Invoke, Key: "six", Unique: "u", Process: "f", At: 35},
		{What: Acked, Key: "six", Unique: "u", Job: 2, Existed: true, Process: "f", At: 36},
	}
	rows := []Row{
		{ID: 1, Key: "one", Attempt: 1, Done: true, By: 1},
		{ID: 2, Key: "two", Attempt: 2, Done: true, By: 2},
		{ID: 3, Key: "three", Attempt: 1, Done: true, By: 1},
	}
	return events, rows
}

func TestNothingIsFoundWhereNothingIsWrong(t *testing.T) {
	events, rows := good()
	want := Report{Acked: 2, Refused: 1, Recovered: 1, Missed: 1, Started: 3, Starts: 4}
	if have := Check(events, rows); !reflect.DeepEqual(have, want) {
		t.Errorf("the report is %+v", have)
	}
	if have := Check(events, nil); !reflect.DeepEqual(have, want) {
		t.Errorf("the report by the events alone is %+v", have)
	}
	slices.Reverse(events)
	if have := Check(events, rows); !reflect.DeepEqual(have, want) {
		t.Errorf("the report of the events in another order is %+v", have)
	}
}

// forgetting makes the first job one of a user who is forgotten before its end is recorded.
func forgetting(events []Event) []Event {
	events[0].User = "ann"
	events = slices.DeleteFunc(events, func(e Event) bool { return e.What == Ok && e.Job == 1 })
	return append(events, Event{What: Forgotten, User: "ann", Process: "f", At: 28})
}

func TestForgottenJobsNeedNotBeDone(t *testing.T) {
	events, rows := good()
	rows[0] = Row{ID: 1, Attempt: 1, Erased: true}
	want := Report{Acked: 1, Refused: 1, Recovered: 1, Missed: 1, Forgotten: 1, Started: 3, Starts: 4}
	if have := Check(forgetting(events), rows); !reflect.DeepEqual(have, want) {
		t.Errorf("the report is %+v", have)
	}
}

// Each sort of violation is planted into the good history, and is the only finding.
func TestPlantedViolations(t *testing.T) {
	lost := func(r Report) []string { return r.Lost }
	unexpected := func(r Report) []string { return r.Unexpected }
	doubled := func(r Report) []string { return r.Doubled }
	stale := func(r Report) []string { return r.Stale }
	unique := func(r Report) []string { return r.Unique }
	changed := func(r Report) []string { return r.Changed }
	left := func(r Report) []string { return r.Left }
	add := func(list ...Event) func([]Event, []Row) ([]Event, []Row) {
		return func(events []Event, rows []Row) ([]Event, []Row) { return append(events, list...), rows }
	}
	for name, test := range map[string]struct {
		plant func([]Event, []Row) ([]Event, []Row)
		in    func(Report) []string
		says  string
	}{
		"Gone": {func(e []Event, r []Row) ([]Event, []Row) { return e, r[1:] }, lost, `"one", job 1, was acknowledged and is gone`},
		"NotDone": {func(e []Event, r []Row) ([]Event, []Row) {
			r[0].Done, r[0].By = false, 0
			return e, r
		}, lost, `"one", job 1, was acknowledged and is not done`},
		"NeverRun": {func(e []Event, r []Row) ([]Event, []Row) {
			e = append(e, Event{What: Acked, Key: "seven", Job: 7, At: 70})
			return e, append(r, Row{ID: 7, Key: "seven", Attempt: 1, Done: true})
		}, lost, "was never run"},
		"NeverRunByEvents": {func(e []Event, _ []Row) ([]Event, []Row) {
			return append(e, Event{What: Acked, Key: "seven", Job: 7, At: 70}), nil
		}, lost, "was never run"},
		"AcknowledgedAsAnother": {func(e []Event, r []Row) ([]Event, []Row) {
			return append(e, Event{What: Acked, Key: "seven", Job: 1, At: 70}), r
		}, lost, `"seven" was acknowledged as job 1, which is "one"`},
		"AcknowledgedAsAnotherByEvents": {func(e []Event, _ []Row) ([]Event, []Row) {
			return append(e, Event{What: Acked, Key: "seven", Job: 1, At: 70}), nil
		}, lost, `"seven" was acknowledged as job 1, which was run as "one"`},
		"DoneByNone": {func(e []Event, r []Row) ([]Event, []Row) {
			r[0].By = 0
			return slices.DeleteFunc(e, func(e Event) bool { return e.Job == 1 && (e.What == Return || e.What == Ok) }), r
		}, lost, `"one", job 1, is done, and no handler of it has returned`},
		"ExistedAndGone": {add(Event{What: Acked, Key: "seven", Unique: "u", Job: 9, Existed: true, At: 70}), lost,
			`"seven" was not added because of job 9, which is not there`},
		"ExistedAndHadEnded": {add(Event{What: Invoke, Key: "seven", Unique: "u", At: 61},
			Event{What: Acked, Key: "seven", Unique: "u", Job: 2, Existed: true, At: 62}), lost,
			`"seven" was not added because of job 2, which attempt 2 had completed before`},
		"ExistedUnderAnotherKey": {add(Event{What: Invoke, Key: "seven", Unique: "v", At: 35},
			Event{What: Acked, Key: "seven", Unique: "v", Job: 2, Existed: true, At: 36}), unique,
			`"seven" was not added because of job 2, whose unique key is "u" and not "v"`},
		"OtherBytes": {func(e []Event, r []Row) ([]Event, []Row) {
			e[0].Payload, e[2].Payload = Digest([]byte("1")), Digest([]byte("2"))
			return e, r
		}, changed, `attempt 1 of job 1 got other bytes than "one" was enqueued with`},
		"ForgottenAndNotErased": {func(e []Event, r []Row) ([]Event, []Row) { return forgetting(e), r }, left,
			`"one", job 1 of the forgotten user "ann", is not erased`},
		"ForgottenAndGone": {func(e []Event, r []Row) ([]Event, []Row) { return forgetting(e), r[1:] }, lost,
			`"one", job 1 of the forgotten user "ann", was acknowledged and is gone`},
		"ForgottenAndRun": {func(e []Event, r []Row) ([]Event, []Row) {
			r[0] = Row{ID: 1, Attempt: 2, Erased: true}
			return append(forgetting(e), Event{What: Start, Key: "one", Job: 1, Attempt: 2, Process: "b", At: 29}), r
		}, left, `attempt 2 of job 1 began after its user "ann" had been forgotten`},
		"TickTwice": {func(e []Event, r []Row) ([]Event, []Row) {
			for id := int64(9); id < 11; id++ {
				e = append(e, Event{What: Start, Job: id, Attempt: 1, At: 70}, Event{What: Ok, Job: id, Attempt: 1, At: 71})
				r = append(r, Row{ID: id, Attempt: 1, Done: true, Tick: "the tick 7 of s"})
			}
			return e, r
		}, doubled, "the tick 7 of s has the jobs [9 10]"},
		"TickNotDone": {func(e []Event, r []Row) ([]Event, []Row) {
			return append(e, Event{What: Start, Job: 9, Attempt: 1, At: 70}), append(r, Row{ID: 9, Attempt: 1, Tick: "the tick 7 of s"})
		}, lost, "job 9 of the tick 7 of s is not done"},
		"TickDoneByNone": {func(e []Event, r []Row) ([]Event, []Row) {
			return e, append(r, Row{ID: 9, Attempt: 1, Done: true, Tick: "the tick 7 of s"})
		}, lost, "no handler of it has returned"},
		"NeverEnqueued": {func(e []Event, r []Row) ([]Event, []Row) {
			return e, append(r, Row{ID: 9, Key: "unknown's", Done: true})
		}, unexpected, "never enqueued"},
		"RunAndNeverEnqueued": {add(Event{What: Start, Key: "unknown's", Job: 9, Attempt: 1, At: 70}), unexpected, "never enqueued"},
		"RefusedAndThere": {func(e []Event, r []Row) ([]Event, []Row) {
			return e, append(r, Row{ID: 9, Key: "five", Done: true})
		}, unexpected, "was refused"},
		"ExistedAndThere": {func(e []Event, r []Row) ([]Event, []Row) {
			return e, append(r, Row{ID: 9, Key: "six", Done: true})
		}, unexpected, "was not added"},
		"EnqueuedTwice": {func(e []Event, r []Row) ([]Event, []Row) {
			return e, append(r, Row{ID: 9, Key: "one", Done: true})
		}, unexpected, "enqueued once"},
		"StartedTwice": {add(Event{What: Start, Key: "two", Job: 2, Attempt: 2, Process: "c", At: 51}), doubled,
			"attempt 2 of job 2 was started 2 times, by [b c]"},
		"StartedAfterItsEnd": {func(e []Event, r []Row) ([]Event, []Row) {
			r[0].Attempt, r[0].By = 2, 0
			return append(e, Event{What: Start, Key: "one", Job: 1, Attempt: 2, Process: "c", At: 31}), r
		}, doubled, "attempt 2 of job 1 was started after attempt 1 had completed it"},
		"UnknownToTheDatabase": {func(e []Event, r []Row) ([]Event, []Row) {
			r[1].Attempt, r[1].By = 1, 1
			return slices.DeleteFunc(e, func(e Event) bool { return e.Job == 2 && (e.What == Ok || e.What == Stale) }), r
		}, doubled, "the database knows of 1"},
		"StaleAccepted": {func(e []Event, r []Row) ([]Event, []Row) {
			e = slices.DeleteFunc(e, func(e Event) bool { return e.Job == 2 && (e.What == Ok || e.What == Stale) })
			r[1].By = 0
			return append(e, Event{What: Ok, Job: 2, Attempt: 1, Process: "a", At: 55}), r
		}, stale, "attempt 1 of job 2 was completed after attempt 2 had been started"},
		"CompletedTwice": {add(Event{What: Ok, Job: 1, Attempt: 1, Process: "b", At: 31}), stale, "job 1 was completed 2 times"},
		"ResultOfAnOldAttempt": {func(e []Event, r []Row) ([]Event, []Row) {
			r[1].By = 1
			return e, r
		}, stale, "job 2 has the result of attempt 1, and was claimed 2 times"},
		"RefusedAndAccepted": {add(Event{What: Stale, Job: 1, Attempt: 1, Process: "a", At: 31}), stale,
			"the completion of attempt 1 of job 1 was refused, and the job has its result"},
		"LiveAtOnce": {func(e []Event, r []Row) ([]Event, []Row) {
			e = append(e, Event{What: Acked, Key: "seven", Unique: "u", Job: 7, At: 48},
				Event{What: Start, Key: "seven", Job: 7, Attempt: 1, At: 49}, Event{What: Return, Job: 7, Attempt: 1, At: 70})
			return e, append(r, Row{ID: 7, Key: "seven", Attempt: 1, Done: true, By: 1})
		}, unique, `"two" and "seven" were live at once with the unique key "u"`},
		"LiveAtOnceUntold": {func(e []Event, r []Row) ([]Event, []Row) {
			e = append(e, Event{What: Invoke, Key: "seven", Unique: "u", At: 48},
				Event{What: Start, Key: "seven", Job: 7, Attempt: 1, At: 49}, Event{What: Return, Job: 7, Attempt: 1, At: 70})
			return e, append(r, Row{ID: 7, Key: "seven", Attempt: 1, Done: true, By: 1})
		}, unique, `"two" and "seven" were live at once with the unique key "u"`},
	} {
		t.Run(name, func(t *testing.T) {
			report := Check(test.plant(good()))
			found := test.in(report)
			if !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, test.says) }) {
				t.Errorf("the report is %+v", report)
			}
			if name != "EnqueuedTwice" && report.Faults() != 1 {
				t.Errorf("there is more than what was planted: %+v", report)
			}
		})
	}
}

// A worker that was stopped between the claim and the handler's call starts it when another has long finished the job.
func TestALateStartIsNoSecondLife(t *testing.T) {
	events, rows := good()
	events = append(events,
		Event{What: Acked, Key: "seven", Unique: "u", Job: 7, At: 61},
		Event{What: Start, Key: "seven", Job: 7, Attempt: 2, At: 62}, Event{What: Return, Job: 7, Attempt: 2, At: 63},
		Event{What: Acked, Key: "eight", Unique: "u", Job: 8, At: 65},
		Event{What: Start, Key: "eight", Job: 8, Attempt: 1, At: 66}, Event{What: Return, Job: 8, Attempt: 1, At: 80},
		Event{What: Start, Key: "seven", Job: 7, Attempt: 1, At: 70}, Event{What: Stale, Job: 7, Attempt: 1, At: 71})
	rows = append(rows, Row{ID: 7, Key: "seven", Attempt: 2, Done: true, By: 2}, Row{ID: 8, Key: "eight", Attempt: 1, Done: true, By: 1})
	if report := Check(events, rows); report.Faults() != 0 {
		t.Errorf("the report is %+v", report)
	}
}

func TestPickups(t *testing.T) {
	events, _ := good()
	events = append(events,
		Event{What: Start, Job: 1, Attempt: 9, Process: "dead", At: 100}, Event{What: Return, Job: 1, Attempt: 9, Process: "dead", At: 101},
		Event{What: Start, Job: 2, Attempt: 3, Process: "dead", At: 100}, Event{What: Start, Job: 2, Attempt: 5, Process: "b", At: 700},
		Event{What: Start, Job: 2, Attempt: 4, Process: "b", At: 300},
		Event{What: Start, Job: 3, Attempt: 2, Process: "dead", At: 100},
		Event{What: Start, Job: 4, Attempt: 1, Process: "alive", At: 100}, Event{What: Start, Job: 4, Attempt: 2, Process: "b", At: 400})
	have := Pickups(events, map[string]time.Time{"dead": time.UnixMicro(150)})
	if want := []time.Duration{150 * time.Microsecond}; !slices.Equal(have, want) {
		t.Errorf("the times are %v, not %v", have, want)
	}
}

func TestFiles(t *testing.T) {
	paths := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	want := []Event{{What: Invoke, Key: "k", Process: "a"}, {What: Acked, Key: "k", Job: 3, Process: "a"}, {What: Start, Job: 3, Attempt: 1, Process: "b"}}
	for i, path := range paths {
		process := string(rune('a' + i))
		w, err := Append(path, process)
		must(t, err)
		for _, e := range want {
			if e.Process == process {
				must(t, w.Write(e))
			}
		}
		must(t, w.Close())
	}
	// The next process to write there continues, and a killed one left half a line.
	torn(t, paths[1])
	have, err := ReadFiles(paths...)
	must(t, err)
	for i := range have {
		if have[i].At == 0 {
			t.Error("an event has no time")
		}
		have[i].At = 0
	}
	if !slices.Equal(have, want) {
		t.Errorf("the files hold %+v", have)
	}
	if _, err := Read(strings.NewReader("no event\n")); err == nil {
		t.Error("a line that is no event is read")
	}
	if _, err := ReadFiles(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a history that is not there is read")
	}
}

func torn(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = file.WriteString(`{"what":"ok","jo`)
	must(t, err)
	must(t, file.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
