package main

import (
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobstest"
)

// A file is parsed to the same facts wherever the process dies, and a file with a syntax error fails at once.
func TestHandler(t *testing.T) {
	folder := writeTree(t, 1)
	notes, err := openJournal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := notes.close(); err != nil {
			t.Error(err)
		}
	}()
	paths, err := findFiles(folder)
	if err != nil {
		t.Fatal(err)
	}
	q := jobstest.New(t)
	fates := map[jobs.Fate]int{}
	for _, path := range paths {
		out := jobstest.Run(t, q, parseFile, handler(folder, notes), file{path})
		fates[out.Fate]++
		if out.Fate != jobs.FateDone {
			continue
		}
		var found facts
		if err := out.Result(&found); err != nil || found.Package == "" || len(found.SHA256) != 64 {
			t.Errorf("%s: %+v, %v", path, found, err)
		}
		var client *jobs.Client
		report := jobstest.Crash(t, parseFile, file{path}, func(run *jobstest.CrashRun) (jobs.Handler[file], func() any) {
			client = run.Client
			return handler(folder, notes), func() any {
				job, err := client.Get(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				return job.Result
			}
		})
		if len(report.Points) == 0 {
			t.Error("the handler was killed nowhere")
		}
	}
	if fates[jobs.FateDone] == 0 || fates[jobs.FateFailed] != 1 || len(fates) != 2 {
		t.Errorf("the files ended as %v", fates)
	}
}
