package main

import (
	"slices"
	"time"
)

// figures holds the results of a run.
type figures struct {
	n           int     // jobs
	processes   int     // the number of working processes
	concurrency int     // slots of each
	seconds     float64 // of the measured part
	isRate      bool    // the rate is n, less the lost jobs, by seconds
	lost        int     // jobs that did not start
	laps        []time.Duration
	cpu         time.Duration // of the processes that work
	serverCPU   time.Duration // of the server's processes, when it is known
	peakRSS     int64         // bytes: the largest of the processes that work
	leastShare  *float64      // of the process with the smallest share, as a part of the fair share
	slotsBusy   float64
	errors      int // reported ones, and jobs that did not start
	duplicates  int // starts of a job beyond its first
	soak        *soaked
}

// result is a line of output. Other programs read it: the keys and their order are fixed, new ones come at the end. A
// workload leaves out figures that it does not measure: a rate of latencies, say, or latencies of a drain.
type result struct {
	System        string   `json:"system"`
	Version       string   `json:"version,omitempty"`
	Engine        string   `json:"engine"`
	Settings      string   `json:"settings"`
	Workload      string   `json:"workload"`
	Durability    string   `json:"durability,omitempty"`
	Round         int      `json:"round"`
	N             int      `json:"n"`
	Processes     int      `json:"processes"`
	Concurrency   int      `json:"concurrency"`
	JobsPerSecond float64  `json:"jobs_per_second,omitempty"`
	P50           float64  `json:"p50_ms,omitempty"`
	P99           float64  `json:"p99_ms,omitempty"`
	P999          float64  `json:"p999_ms,omitempty"`
	CPUSeconds    float64  `json:"cpu_seconds"`
	ServerCPU     float64  `json:"server_cpu_seconds,omitempty"`
	Seconds       float64  `json:"seconds"`
	PeakRSS       float64  `json:"peak_rss_mb,omitempty"`
	LeastShare    *float64 `json:"least_share,omitempty"`
	Errors        int      `json:"errors"`
	Duplicates    int      `json:"duplicates"`
	SlotsBusy     float64  `json:"slots_busy,omitempty"` // the share of them, in the steady state
	Soak          *soaked  `json:"soak,omitempty"`
	Error         string   `json:"error,omitempty"` // why there are no figures

	ours  bool
	alone bool
}

const megabyte = 1 << 20

// lapsForP999 is the number of laps that a meaningful last thousandth needs.
const lapsForP999 = 1000

func newResult(c comparison, system contender, v variant, round int, f figures, err error) result {
	r := result{
		System: system.name, Version: system.version, Engine: system.engine, Settings: system.settings,
		Workload: c.name, Durability: system.durability, Round: round, N: f.n, Processes: f.processes,
		Concurrency: f.concurrency, CPUSeconds: f.cpu.Seconds(), ServerCPU: f.serverCPU.Seconds(), Seconds: f.seconds,
		PeakRSS: float64(f.peakRSS) / megabyte, LeastShare: f.leastShare, Errors: f.errors, Duplicates: f.duplicates,
		SlotsBusy: f.slotsBusy, Soak: f.soak, ours: system.name == sqluice, alone: c.alone,
	}
	if v.settings != "" {
		r.Settings += ", " + v.settings
	}
	if f.isRate && f.seconds > 0 {
		r.JobsPerSecond = float64(f.n-f.lost) / f.seconds
	}
	if len(f.laps) > 0 {
		laps := slices.Clone(f.laps)
		slices.Sort(laps)
		r.P50, r.P99 = percentile(laps, 50), percentile(laps, 99)
		if len(laps) >= lapsForP999 {
			r.P999 = percentile(laps, 99.9)
		}
	}
	if err != nil {
		r.Error = err.Error()
		r.Errors = max(1, r.Errors)
	}
	return r
}
