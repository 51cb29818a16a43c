package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/internal/printable"
	port "github.com/sqluice/sqluice/internal/queue/engine"
)

// Line is the result of a measurement. With --json it is a line of the output, in the format of the project's own benchmarks.
type Line struct {
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
	PeakRSS       float64 `json:"peak_rss_mb,omitempty"` // the peak of the largest process
	LeastShare    float64 `json:"least_share,omitempty"` // the least number of jobs of a process, relative to the fair share
	Errors        int64   `json:"errors"`
	Duplicates    int64   `json:"duplicates"` // starts of a job beyond its first
}

// lapsForP999 is the least number of laps with a 99.9th percentile: with fewer it would be the longest lap.
const lapsForP999 = 1000

// setLaps sorts the durations of single operations and sets their percentiles.
func (l *Line) setLaps(laps []time.Duration) {
	slices.Sort(laps)
	l.P50, l.P99 = perMille(laps, 500), perMille(laps, 990)
	if len(laps) >= lapsForP999 {
		l.P999 = perMille(laps, 999)
	}
}

// perMille returns the n-th permille of sorted laps in milliseconds; 0 without laps.
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

// describe prints the engine, the database and the size of the run, unless the output is JSON.
func (r *run) describe(ctx context.Context, d address.Database) error {
	version, err := port.StoreOf(r.scratch.store).Upkeep().EngineVersion(ctx)
	if err != nil {
		return err
	}
	r.engine, _, _ = strings.Cut(version, " ")
	if r.load.AsJSON {
		return nil
	}
	what := fmt.Sprintf("durability %s, beside %s", r.load.Durability, d)
	if d.Postgres() {
		what = "its own schema in " + d.String()
	}
	return r.host.Print("%s, %s; %d jobs of %d bytes", version, printable.Line(what), r.load.Jobs, r.load.Payload)
}

// print completes and prints the line of a measurement. For people the note follows.
func (r *run) print(l Line, note string) error {
	l.System, l.Version, l.Engine, l.Settings, l.Round = "sqluice", r.host.Version, r.engine, "default", 1
	if !r.scratch.database.Postgres() {
		l.Durability = r.load.Durability
	}
	if !r.load.AsJSON {
		return r.host.Print("%-24s %s %s  %s", l.Workload, l.rate(), l.times(), note)
	}
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return r.host.Print("%s", printable.JSON(text))
}

func (l Line) rate() string {
	if l.JobsPerSecond == 0 {
		return fmt.Sprintf("%12s", "")
	}
	return fmt.Sprintf("%10.0f/s", l.JobsPerSecond)
}

func (l Line) times() string {
	if l.P50 == 0 {
		return fmt.Sprintf("%48s", "")
	}
	last := ""
	if l.P999 > 0 {
		last = fmt.Sprintf("  p99.9 %.3f", l.P999)
	}
	return fmt.Sprintf("%48s", fmt.Sprintf("p50 %.3f  p99 %.3f%s ms", l.P50, l.P99, last))
}
