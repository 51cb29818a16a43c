package main

import (
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// scene is a run that the audit accepts: job 1 crashed once and was done at its second attempt, job 2 failed.
type scene struct {
	ids      []int64
	all      []jobs.Job
	failures map[int64][]inspect.AttemptEnd
	notes    account
}

func newScene() *scene {
	return &scene{
		ids: []int64{1, 2},
		all: []jobs.Job{{ID: 2, Status: jobs.StatusFailed, Attempt: 1}, {ID: 1, Status: jobs.StatusDone, Attempt: 2}},
		failures: map[int64][]inspect.AttemptEnd{
			1: {{Attempt: 1, Cause: jobs.CauseCrash}},
			2: {{Attempt: 1, Cause: jobs.CauseError}},
		},
		notes: account{
			began:    map[attempt]int{{1, 1}: 1, {1, 2}: 1, {2, 1}: 1},
			returned: map[attempt]int{{1, 2}: 1, {2, 1}: 1},
		},
	}
}

func TestAudit(t *testing.T) {
	for _, test := range []struct {
		name    string
		breakIt func(*scene)
		want    string // "" for no fault
	}{
		{"nothing wrong", func(*scene) {}, ""},
		{"returned before the crash", func(s *scene) { s.notes.returned[attempt{1, 1}] = 1 }, ""},
		{"crashed before its handler started", func(s *scene) {
			s.all[1].Uncounted = 1
			delete(s.notes.began, attempt{1, 1})
		}, ""},
		{"lost", func(s *scene) { s.all = s.all[:1] }, "job 1 was enqueued and is not there"},
		{"out of nowhere", func(s *scene) { s.ids = s.ids[:1] }, "1 jobs were enqueued, 2 are there"},
		{"not ended", func(s *scene) { s.all[1].Status = jobs.StatusRunning }, "job 1 is running"},
		{"begun twice", func(s *scene) { s.notes.began[attempt{2, 1}] = 2 }, "attempt 1 of job 2 began 2 times"},
		{"begun unclaimed", func(s *scene) { s.notes.began[attempt{2, 2}] = 1 }, "attempt 2 of job 2 began"},
		{"ended unworked", func(s *scene) { delete(s.notes.returned, attempt{1, 2}) }, "its handler returned 0 times"},
		{"handed back unstarted", func(s *scene) {
			s.all[1].Attempt, s.all[1].Uncounted, s.notes.returned = 3, 1, map[attempt]int{{1, 3}: 1, {2, 1}: 1}
		}, ""},
		{"ended twice", func(s *scene) { s.failures[2] = append(s.failures[2], s.failures[2]...) }, "job 2 has 1 attempts, 1 of them count, and 2 have an end"},
		{"completed twice", func(s *scene) { delete(s.failures, 1) }, "job 1 has 2 attempts, 2 of them count, and 1 have an end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene()
			test.breakIt(s)
			faults := strings.Join(audit(s.ids, s.all, s.failures, s.notes), "\n")
			if test.want == "" && faults != "" || !strings.Contains(faults, test.want) {
				t.Errorf("the audit found %q, not %q", faults, test.want)
			}
		})
	}
}

func TestRepeated(t *testing.T) {
	s := newScene()
	if n := repeated(s.notes); n != 0 {
		t.Errorf("%d jobs repeated, not 0", n)
	}
	s.notes.returned[attempt{1, 1}] = 1
	if n := repeated(s.notes); n != 1 {
		t.Errorf("%d jobs repeated, not 1", n)
	}
}

func TestJournalOutlivesItsProcess(t *testing.T) {
	folder := t.TempDir()
	notes, err := openJournal(folder)
	if err != nil {
		t.Fatal(err)
	}
	job := jobs.Job{ID: 7, Attempt: 2}
	for _, what := range []string{began, returned} {
		if err := notes.record(what, job); err != nil {
			t.Fatal(err)
		}
	}
	// Read while it is open: a killed process closes nothing.
	account, err := readJournals(folder)
	if err != nil {
		t.Fatal(err)
	}
	if of := (attempt{7, 2}); account.began[of] != 1 || account.returned[of] != 1 {
		t.Errorf("the journals say %+v", account)
	}
	if err := notes.close(); err != nil {
		t.Fatal(err)
	}
}
