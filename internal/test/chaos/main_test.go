//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/test/faultvfs"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(roleVariable); ok {
		os.Exit(playRole(text))
	}
	os.Exit(m.Run())
}

// slowLanes holds the lanes that wait for leases, clocks and servers, for half a minute and longer also in their smallest form. `make
// chaos` runs them.
var slowLanes = []string{"clocks", "poison", "server and network", "disk faults", "disk taken away"}

// Every other lane can run, in a small form, and finds the promises kept.
func TestLanes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	skipped := 0
	for _, l := range lanes() {
		if slices.Contains(slowLanes, l.name) {
			skipped++
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run([]string{"-lane", fmt.Sprint(l.number), "-scale", "0.02"}, &stdout, &stderr)
			t.Logf("\n%s\n%s", stderr.String(), stdout.String())
			if code != 0 {
				t.Fatalf("the exit code is %d", code)
			}
			for _, engine := range l.engines {
				row := regexp.MustCompile(fmt.Sprintf(`(?m)^%d %s +%s +([1-9]\d* +[1-9]\d* +0 +0 +0 +0 |not tested here)`, l.number, l.name, engine))
				if !row.MatchString(stdout.String()) {
					t.Errorf("the table has no such line: %s", row)
				}
			}
		})
	}
	if skipped != len(slowLanes) {
		t.Errorf("%d of the %d slow lanes exist", skipped, len(slowLanes))
	}
}

func TestFlags(t *testing.T) {
	for flags, says := range map[string]string{
		"-lane 99":      `there is no lane "99"`,
		"-lane x":       `there is no lane "x"`,
		"-engine mysql": `there is no engine "mysql"`,
		"more":          `"more" is no flag`,
		"-scale much":   "invalid value",
	} {
		var stderr bytes.Buffer
		if code := run(strings.Fields(flags), io.Discard, &stderr); code != 2 || !strings.Contains(stderr.String(), says) {
			t.Errorf("%s gives %d: %s", flags, code, stderr.String())
		}
	}
	c, err := parse([]string{"-seed", "7", "-lane", "4,1"}, io.Discard)
	if err != nil || c.seed != 7 || len(c.lanes) != 2 || c.lanes[0].number != 4 || c.lanes[1].number != 1 {
		t.Errorf("the choice is %+v, %v", c, err)
	}
	if c, err = parse(nil, io.Discard); err != nil || c.seed == 0 || len(c.lanes) != len(lanes()) {
		t.Errorf("without flags the choice is %+v, %v", c, err)
	}
}

func TestExitCodes(t *testing.T) {
	t.Setenv("CI", "")
	broken := &trial{found: tally{stale: []string{"one"}}}
	for name, test := range map[string]struct {
		row  row
		want int
	}{
		"well":     {row{trial: &trial{jobs: 1, faults: 1}}, 0},
		"broken":   {row{trial: broken}, 1},
		"not run":  {row{trial: broken, err: errors.New("not run")}, 2},
		"skipped":  {row{trial: &trial{}, skipped: errNotHere}, 0},
		"no fault": {row{trial: &trial{jobs: 1}}, 2},
		"no job":   {row{trial: &trial{faults: 1}}, 2},
	} {
		if code := test.row.code(); code != test.want {
			t.Errorf("%s: the exit code is %d, not %d", name, code, test.want)
		}
	}
	t.Setenv("CI", "true")
	if code := (row{trial: &trial{}, skipped: errNotHere}).code(); code != 2 {
		t.Errorf("in CI a lane that cannot be run gives %d", code)
	}
}

func TestTable(t *testing.T) {
	var text bytes.Buffer
	tr := &trial{
		engine: onSQLite, jobs: 5, faults: 6, found: tally{lost: []string{"a"}, doubled: []string{"b", "c"}},
		pickups: []time.Duration{3 * time.Second, time.Second, 2 * time.Second},
	}
	printTable(&text, []row{
		{lane: laneKill(), trial: tr, took: time.Minute},
		{lane: laneStop(), trial: &trial{engine: onPostgres}, skipped: fmt.Errorf("%w: no server", errNotHere)},
		{lane: laneStop(), trial: &trial{engine: onSQLite}, err: errors.New("broken")},
	})
	for _, want := range []string{
		`1 kill and stop +sqlite +5 +6 +1 +2 +0 +0 +2s +3s +1m0s`, `11 SIGTERM +postgres +not tested here: no server`,
		`11 SIGTERM +sqlite +0 .*NOT FINISHED`,
	} {
		if !regexp.MustCompile(want).MatchString(text.String()) {
			t.Errorf("the table has no line %q:\n%s", want, text.String())
		}
	}
}

// The comparison of a lane with disk faults finds each sort of fault.
func TestLedgerFindsWhatIsWrong(t *testing.T) {
	job := func(id int64, key string, attempt int) jobs.Job {
		return jobs.Job{ID: id, Attempt: attempt, Payload: json.RawMessage(fmt.Sprintf(`{"key":%q}`, key))}
	}
	l := newLedger()
	l.added["added"], l.refused["refused"], l.unknown["unknown"] = 1, jobs.ErrFull, jobs.ErrUnknownOutcome
	l.start(job(1, "added", 1))
	if found := l.compare([]jobs.Job{job(1, "added", 1), job(2, "unknown", 0)}, false); found.count() != 0 {
		t.Errorf("nothing is wrong, and found is %+v", found)
	}
	for name, test := range map[string]struct {
		list []jobs.Job
		in   func(tally) []string
	}{
		"lost":    {nil, func(f tally) []string { return f.lost }},
		"moved":   {[]jobs.Job{job(4, "added", 0)}, func(f tally) []string { return f.other }},
		"refused": {[]jobs.Job{job(1, "added", 1), job(2, "refused", 0)}, func(f tally) []string { return f.other }},
		"twice":   {[]jobs.Job{job(1, "added", 1), job(2, "added", 0)}, func(f tally) []string { return f.doubled }},
		"rerun":   {[]jobs.Job{job(1, "added", 0)}, func(f tally) []string { return f.doubled }},
		"charged": {[]jobs.Job{job(1, "added", 2)}, func(f tally) []string { return f.other }},
		"foreign": {[]jobs.Job{job(1, "added", 1), {ID: 3, Payload: json.RawMessage(`3`)}}, func(f tally) []string { return f.other }},
	} {
		if found := l.compare(test.list, false); len(test.in(found)) != 1 || found.count() != 1 {
			t.Errorf("%s: found is %+v", name, found)
		}
	}
	l.start(job(1, "added", 1))
	if found := l.compare([]jobs.Job{job(1, "added", 1)}, false); len(found.doubled) != 1 {
		t.Errorf("an attempt was started twice, and found is %+v", found)
	}
}

// A database that is opened with normal durability does not keep the promise of full: the lane would detect a store
// that did not sync.
func TestPowerLossIsSeen(t *testing.T) {
	tr := &trial{engine: onSQLite, dir: t.TempDir(), random: rand.New(rand.NewPCG(1, 1)), log: io.Discard}
	live := filepath.Join(tr.dir, "live")
	if err := os.MkdirAll(live, 0o700); err != nil {
		t.Fatal(err)
	}
	fs, err := faultvfs.Install(live)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fs.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := fs.Record(); err != nil {
		t.Fatal(err)
	}
	states, err := tr.powerWork(t.Context(), fs, filepath.Join(live, "jobs.db"), sqlite.Normal)
	if err != nil {
		t.Fatal(err)
	}
	// Before the checkpoint of the close.
	moment := states[len(states)-1].moment
	image := filepath.Join(tr.dir, "image")
	if err := fs.Image(image, moment, 0, tr.random); err != nil {
		t.Fatal(err)
	}
	found, err := checkPower(t.Context(), filepath.Join(image, "jobs.db"), states, moment, sqlite.Full)
	if err != nil || len(found.lost) == 0 {
		t.Errorf("found is %+v, %v", found, err)
	}
	// And one whose rows never existed in that state.
	other := slices.Clone(states)
	for i := range other {
		other[i].sum = "another"
	}
	full := filepath.Join(tr.dir, "full")
	if err := fs.Image(full, moment, 1, tr.random); err != nil {
		t.Fatal(err)
	}
	found, err = checkPower(t.Context(), filepath.Join(full, "jobs.db"), other, moment, sqlite.Normal)
	if err != nil || len(found.other) == 0 {
		t.Errorf("found is %+v, %v", found, err)
	}
}

// The rounds of a lane add up: a fault of one of them is not forgotten.
func TestRoundsAddUp(t *testing.T) {
	made := func(jobs int, found tally, err error) row {
		return row{trial: &trial{jobs: jobs, faults: 1, found: found, pickups: []time.Duration{time.Second}}, err: err, took: time.Minute}
	}
	sum := made(10, tally{}, nil)
	sum.add(made(20, tally{lost: []string{"a job"}}, nil))
	sum.add(made(30, tally{}, nil))
	have := sum.trial
	if have.jobs != 60 || have.faults != 3 || len(have.found.lost) != 1 || len(have.pickups) != 3 || sum.took != 3*time.Minute || sum.code() != 1 {
		t.Errorf("three rounds are %+v, %s, code %d", have, sum.took, sum.code())
	}
	sum.add(made(0, tally{}, errors.New("it broke off")))
	sum.add(made(0, tally{}, nil)) // a single round without jobs does not matter then
	if sum.code() != 2 {
		t.Errorf("a round that was not finished is forgotten: code %d", sum.code())
	}
}
