package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"
)

// system is one contestant in one workload.
type system struct {
	name string
	run  func(ctx context.Context, s settings, d database) (figures, error)
}

// figures are what a run reports of itself.
type figures struct {
	n          int           // operations
	elapsed    time.Duration // for all of them
	laps       []time.Duration
	part       []time.Duration // of the laps: what is in them apart from the rest
	partName   string
	cpu        time.Duration // in the meantime, of the processes that work
	serversCPU time.Duration // of the server's processes, when they are known
	starts     int           // of jobs, each of which should start once, when they were counted
}

// result is a line of output.
type result struct {
	Workload   string  `json:"workload"`
	System     string  `json:"system"`
	Round      int     `json:"round"`
	N          int     `json:"n"`
	PerSecond  float64 `json:"per_second,omitempty"`
	P50        float64 `json:"p50_ms,omitempty"`
	P99        float64 `json:"p99_ms,omitempty"`
	CPUSeconds float64 `json:"cpu_seconds"`
	CPUShare   float64 `json:"cpu_share"` // of one core
	ServersCPU float64 `json:"server_cpu_share,omitempty"`
	Again      *int    `json:"started_again,omitempty"` // starts beyond the first one of a job
}

// measure is one run, in a new database. What is in the laps apart from the rest gets a line of its own.
func measure(ctx context.Context, s settings, e engine, workload string, sys system) (_ []result, err error) {
	d, err := e.create(ctx, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.drop()) }()
	runtime.GC()
	f, err := sys.run(ctx, s, d)
	if err != nil {
		return nil, err
	}
	r := result{
		Workload: workload, System: sys.name, N: f.n, CPUSeconds: f.cpu.Seconds(),
		CPUShare: f.cpu.Seconds() / f.elapsed.Seconds(), ServersCPU: f.serversCPU.Seconds() / f.elapsed.Seconds(),
	}
	if f.n > 0 {
		r.PerSecond = float64(f.n) / f.elapsed.Seconds()
	}
	if f.starts > 0 {
		again := f.starts - f.n
		r.Again = &again
	}
	r.setLaps(f.laps)
	results := []result{r}
	if len(f.part) > 0 {
		part := result{Workload: workload + ", " + f.partName, System: sys.name, N: len(f.part)}
		part.setLaps(f.part)
		results = append(results, part)
	}
	return results, nil
}

func (r *result) setLaps(laps []time.Duration) {
	if len(laps) > 0 {
		slices.Sort(laps)
		r.P50 = percentile(laps, 50)
		r.P99 = percentile(laps, 99)
	}
}

func percentile(sorted []time.Duration, p int) float64 {
	return float64(sorted[min(len(sorted)-1, len(sorted)*p/100)].Microseconds()) / 1000
}
