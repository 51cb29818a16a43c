package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func newTestResult(f figures, err error) result {
	c := comparison{workload: workload{name: "drain"}, engine: onSQLite}
	system := contender{name: "River", version: "v0.31.0", engine: onSQLite, settings: "best", durability: durabilityNormal}
	return newResult(c, system, variant{settings: "empty table"}, 2, f, err)
}

// keys returns the keys of a line, in order.
func keys(t *testing.T, r result) []string {
	t.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(line)))
	var list []string
	for depth, isKey := 0, false; d.More() || depth > 0; {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch token {
		case json.Delim('{'):
			depth++
			isKey = true
			continue
		case json.Delim('}'):
			depth--
			isKey = true
			continue
		}
		if isKey && depth == 1 {
			list = append(list, token.(string))
		}
		isKey = !isKey
	}
	return list
}

func TestKeysOfALine(t *testing.T) {
	share := 0.0
	laps := make([]time.Duration, lapsForP999)
	for i := range laps {
		laps[i] = time.Millisecond
	}
	full := figures{
		n: 10, processes: 4, concurrency: 200, seconds: 2, isRate: true, laps: laps, cpu: time.Second,
		serverCPU: time.Second, peakRSS: 3 << 20, leastShare: &share, slotsBusy: 0.5, errors: 1, duplicates: 2,
		soak: &soaked{},
	}
	want := strings.Fields(`system version engine settings workload durability round n processes concurrency
		jobs_per_second p50_ms p99_ms p999_ms cpu_seconds server_cpu_seconds seconds peak_rss_mb least_share errors
		duplicates slots_busy soak error`)
	if got := keys(t, newTestResult(full, errors.New("no"))); !slices.Equal(got, want) {
		t.Errorf("all of them are\n%v, not\n%v", got, want)
	}
	want = strings.Fields(`system version engine settings workload durability round n processes concurrency cpu_seconds
		seconds errors duplicates`)
	if got := keys(t, newTestResult(figures{}, nil)); !slices.Equal(got, want) {
		t.Errorf("those that are always there are\n%v, not\n%v", got, want)
	}
}

func TestResult(t *testing.T) {
	laps := []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	r := newTestResult(figures{n: 100, seconds: 4, isRate: true, laps: laps, peakRSS: 3 << 19}, nil)
	if r.JobsPerSecond != 25 || r.P50 != 2 || r.P99 != 3 || r.P999 != 0 || r.PeakRSS != 1.5 || r.Round != 2 {
		t.Errorf("%+v", r)
	}
	if r.Settings != "best, empty table" || r.Errors != 0 || r.Error != "" {
		t.Errorf("%+v", r)
	}
	if laps[0] != 3*time.Millisecond {
		t.Error("the laps were put in order in place")
	}
	if r := newTestResult(figures{n: 160, seconds: 3, laps: laps}, nil); r.JobsPerSecond != 0 {
		t.Errorf("a latency has %v jobs a second", r.JobsPerSecond)
	}
	if r := newTestResult(figures{}, errors.New("it hung")); r.Errors != 1 || r.Error != "it hung" {
		t.Errorf("a run that failed: %+v", r)
	}
}

func TestFaultsAreOurs(t *testing.T) {
	all := []result{{System: "River", Errors: 3, Duplicates: 1}, {System: sqluice, ours: true}}
	if err := faults(all); err != nil {
		t.Errorf("a peer's faults fail the run: %v", err)
	}
	if faults(append(all, result{ours: true, Errors: 1})) == nil || faults(append(all, result{ours: true, Duplicates: 1})) == nil {
		t.Error("our own do not")
	}
}
