package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"
)

// run measures the selected comparisons, prints them, and fails when sqluice failed.
func run(ctx context.Context, s settings) (err error) {
	fmt.Printf("# %s %s/%s, %d CPUs, %d jobs, concurrency %d\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), s.jobs, s.concurrency)
	contenders := ours()
	if s.peers {
		contenders = append(contenders, peers()...)
	}
	chosen := whoIsThere(ctx, choose(s, workloads(), contenders, os.Stdout), os.Stdout)
	engines, err := startEngines(ctx, chosen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engines.stop()) }()
	out := io.Writer(os.Stdout)
	if s.out != "" {
		file, err := os.Create(s.out)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = io.MultiWriter(out, file)
	}
	lines := json.NewEncoder(out)
	var all []result
	for _, c := range chosen {
		e := engines[c.engine]
		if e == nil {
			continue // left out; the reason is printed already
		}
		results, err := compare(ctx, s, e, c, lines.Encode)
		all = append(all, results...)
		if err != nil {
			return err
		}
	}
	return errors.Join(table(os.Stdout, all), faults(all))
}

// compare lets systems take turns; each round another one begins.
func compare(ctx context.Context, s settings, e engine, c comparison, say func(any) error) ([]result, error) {
	var all []result
	for round := range s.roundsOf(c.workload) {
		first := round % len(c.systems)
		for _, system := range slices.Concat(c.systems[first:], c.systems[:first]) {
			for _, v := range c.lines {
				f, err := measure(ctx, s, e, c, system, v)
				if ctx.Err() != nil {
					return all, ctx.Err()
				}
				r := newResult(c, system, v, round+1, f, err)
				all = append(all, r)
				if err := say(r); err != nil {
					return all, err
				}
			}
		}
	}
	return all, nil
}

const (
	soakMore = 3 * time.Minute // the longest time of a soak beside its length
	fillMore = 5 * time.Minute // the limit for filling the database for the others
)

// limitOf returns the time limit of a run.
func (s settings) limitOf(w workload) time.Duration {
	switch {
	case slices.Contains(w.needs, roleSoak):
		return s.soak + soakMore
	case len(w.lines) > 1:
		return s.limit + fillMore
	}
	return s.limit
}

// measure runs one measurement in a new database.
func measure(ctx context.Context, s settings, e engine, c comparison, system contender, v variant) (f figures, err error) {
	d, err := e.create(ctx, system.durability)
	if err != nil {
		return figures{}, err
	}
	defer func() { err = errors.Join(err, d.drop()) }()
	limit := s.limitOf(c.workload)
	limited, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s", limit))
	defer stop()
	f, err = v.measure(limited, running{settings: s, contender: system, database: d, n: system.jobsIn(c.workload, c.jobsOn(system.engine, s.jobs))})
	if err != nil && limited.Err() != nil {
		err = errors.Join(context.Cause(limited), err)
	}
	return f, err
}

// faults returns the errors of sqluice; the errors of others are only shown.
func faults(all []result) error {
	var errs []error
	for _, r := range all {
		if r.ours && (r.Errors > 0 || r.Duplicates > 0) {
			errs = append(errs, fmt.Errorf("%s, %s, %s, round %d: %d errors, %d duplicates %s",
				r.Engine, r.Workload, r.Settings, r.Round, r.Errors, r.Duplicates, r.Error))
		}
	}
	return errors.Join(errs...)
}
