package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	port "github.com/sqluice/sqluice/internal/queue/engine"
)

// benchLine is the result of a measurement: a line of --json, in the format of the project's own benchmarks.
type benchLine struct {
	System        string  `json:"system"`
	Version       string  `json:"version,omitempty"`
	Engine        string  `json:"engine"`
	Settings      string  `json:"settings"`
	Workload      string  `json:"workload"`
	Durability    string  `json:"durability,omitempty"`
	Round         int     `json:"round"`
	N             int     `json:"n"`
	Processes     int     `json:"processes"`
	Concurrency   int     `json:"concurrency"`
	JobsPerSecond float64 `json:"jobs_per_second,omitempty"`
	P50           float64 `json:"p50_ms,omitempty"`
	P99           float64 `json:"p99_ms,omitempty"`
	P999          float64 `json:"p999_ms,omitempty"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	Seconds       float64 `json:"seconds"`
	PeakRSS       float64 `json:"peak_rss_mb,omitempty"` // of the largest process
	LeastShare    float64 `json:"least_share,omitempty"` // the least number of jobs of a process, relative to the fair share
	Errors        int64   `json:"errors"`
	Duplicates    int64   `json:"duplicates"` // starts of a job beyond its first
}

// lapsForP999 is how many laps a 99.9th percentile needs; with fewer laps it is the longest one.
const lapsForP999 = 1000

// setLaps sets the percentiles of single durations.
func (l *benchLine) setLaps(laps []time.Duration) {
	slices.Sort(laps)
	l.P50, l.P99 = perMille(laps, 500), perMille(laps, 990)
	if len(laps) >= lapsForP999 {
		l.P999 = perMille(laps, 999)
	}
}

// perMille returns a percentile, in thousandths, of sorted laps, in milliseconds.
func perMille(laps []time.Duration, n int) float64 {
	if len(laps) == 0 {
		return 0
	}
	at := (len(laps)*n + 999) / 1000
	return rounded(laps[max(at, 1)-1].Seconds()*1000, 3)
}

func rounded(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

// describe prints what is measured.
func (b *bench) describe(ctx context.Context, d database) error {
	version, err := port.StoreOf(b.place.store).Upkeep().EngineVersion(ctx)
	if err != nil {
		return err
	}
	b.engine, _, _ = strings.Cut(version, " ")
	b.version = programVersion()
	if b.flags.asJSON {
		return nil
	}
	what := fmt.Sprintf("durability %s, beside %s", b.flags.level(), d)
	if d.postgres() {
		what = "its own schema in " + d.String()
	}
	return b.app.say("%s, %s; %d jobs of %d bytes", version, printable(what, oneLine), b.flags.jobs, b.flags.payload)
}

// print prints a measurement.
func (b *bench) print(l benchLine, note string) error {
	l.System, l.Version, l.Engine, l.Settings, l.Round = "sqluice", b.version, b.engine, "default", 1
	if !b.place.database.postgres() {
		l.Durability = b.flags.level()
	}
	if !b.flags.asJSON {
		return b.app.say("%-24s %s %s  %s", l.Workload, l.rate(), l.times(), note)
	}
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return b.app.say("%s", escapeJSON(text))
}

func (l benchLine) rate() string {
	if l.JobsPerSecond == 0 {
		return fmt.Sprintf("%12s", "")
	}
	return fmt.Sprintf("%10.0f/s", l.JobsPerSecond)
}

func (l benchLine) times() string {
	if l.P50 == 0 {
		return fmt.Sprintf("%48s", "")
	}
	last := ""
	if l.P999 > 0 {
		last = fmt.Sprintf("  p99.9 %.3f", l.P999)
	}
	return fmt.Sprintf("%48s", fmt.Sprintf("p50 %.3f  p99 %.3f%s ms", l.P50, l.P99, last))
}
