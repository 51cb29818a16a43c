package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"
)

// system is one contestant in one workload.
type system struct {
	name string
	run  func(ctx context.Context, s settings, path string) (figures, error)
}

// figures are what a run reports of itself.
type figures struct {
	n       int           // operations
	elapsed time.Duration // for all of them
	laps    []time.Duration
	cpu     time.Duration // in the meantime
}

// clock measures the part of a run that counts.
type clock struct {
	begin time.Time
	cpu   time.Duration
}

func start() clock { return clock{begin: time.Now(), cpu: cpuTime()} }

func (c clock) stop(n int) figures {
	return figures{n: n, elapsed: time.Since(c.begin), cpu: cpuTime() - c.cpu}
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
}

func measure(ctx context.Context, s settings, workload string, sys system) (result, error) {
	dir, err := os.MkdirTemp("", "sqluice-bench-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	runtime.GC()
	f, err := sys.run(ctx, s, filepath.Join(dir, "jobs.db"))
	if err != nil {
		return result{}, err
	}
	r := result{
		Workload: workload, System: sys.name, N: f.n,
		CPUSeconds: f.cpu.Seconds(), CPUShare: f.cpu.Seconds() / f.elapsed.Seconds(),
	}
	if f.n > 0 {
		r.PerSecond = float64(f.n) / f.elapsed.Seconds()
	}
	if len(f.laps) > 0 {
		slices.Sort(f.laps)
		r.P50 = percentile(f.laps, 50)
		r.P99 = percentile(f.laps, 99)
	}
	return r, nil
}

func percentile(sorted []time.Duration, p int) float64 {
	return float64(sorted[min(len(sorted)-1, len(sorted)*p/100)].Microseconds()) / 1000
}

// cpuTime is what this process has used, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// table prints the medians, and for each the ratio to the first system of its workload.
func table(out io.Writer, all []result) {
	type key struct{ workload, system string }
	groups := map[key][]result{}
	var order []key
	for _, r := range all {
		k := key{r.Workload, r.System}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	median := func(k key, value func(result) float64) float64 {
		rs := slices.Clone(groups[k])
		slices.SortFunc(rs, func(a, b result) int { return cmp.Compare(value(a), value(b)) })
		return value(rs[len(rs)/2])
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nworkload\tsystem\tper second\tratio\tp50 ms\tp99 ms\tCPU")
	base := map[string]float64{}
	for _, k := range order {
		rate := median(k, func(r result) float64 { return r.PerSecond })
		if _, ok := base[k.workload]; !ok {
			base[k.workload] = rate
		}
		ratio := "-"
		if base[k.workload] > 0 {
			ratio = fmt.Sprintf("%.2f", rate/base[k.workload])
		}
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%s\t%.3f\t%.3f\t%.1f %%\n", k.workload, k.system, rate, ratio,
			median(k, func(r result) float64 { return r.P50 }), median(k, func(r result) float64 { return r.P99 }),
			100*median(k, func(r result) float64 { return r.CPUShare }))
	}
	_ = w.Flush()
}
