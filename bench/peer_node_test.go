package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/bench/node"
)

// testServer is a PostgreSQL server.
func testServer(t *testing.T) *server {
	t.Helper()
	s, err := startServer(t.Context())
	if errors.Is(err, errNoServer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// playNode lets n processes play a role and returns their reports.
func playNode(t *testing.T, c contender, d database, n int, change func(*task)) []report {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	described := c.task("", d)
	change(&described)
	workers, err := startChildren(ctx, slices.Repeat([]task{described}, n))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(workers.begin(), workers.done()); err != nil {
		t.Fatal(err)
	}
	reports, err := workers.reports()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if r.CPU <= 0 || r.PeakRSS < 10<<20 {
			t.Errorf("a process reports %s of CPU and %d bytes", r.CPU, r.PeakRSS)
		}
		if r.Errors != 0 {
			t.Errorf("a process reports %d errors", r.Errors)
		}
	}
	return reports
}

// numbersOf returns the numbers of the started jobs, sorted.
func numbersOf(reports []report) []int {
	var list []int
	for _, r := range reports {
		for _, b := range r.Begun {
			list = append(list, b.N)
		}
	}
	slices.Sort(list)
	return list
}

func TestNodePeersPlayTheirRoles(t *testing.T) {
	if err := node.Check(t.Context(), nodeFolder); err != nil {
		t.Skip(err)
	}
	const n = 300
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	wantAll := func(t *testing.T, reports []report) {
		t.Helper()
		if got := numbersOf(reports); !slices.Equal(got, all) {
			t.Errorf("%d starts, not of the jobs 0 ... %d once each", len(got), n-1)
		}
	}
	for _, c := range nodePeers() {
		if !c.plays(roleDrain) {
			continue
		}
		t.Run(c.key(), func(t *testing.T) {
			d := createFor(t, c)
			play := func(t *testing.T, processes int, change func(*task)) []report {
				return playNode(t, c, d, processes, func(d *task) {
					d.Jobs, d.Size, d.Concurrency = n, 80, 10
					change(d)
				})
			}
			t.Run("bulk and drain by 2", func(t *testing.T) {
				play(t, 1, func(d *task) { d.Role = roleBulk })
				wantAll(t, play(t, 2, func(d *task) { d.Role = roleDrain }))
			})
			t.Run("insert and handlers that take a while", func(t *testing.T) {
				play(t, 1, func(d *task) { d.Role, d.Callers = roleInsert, 7 })
				wantAll(t, play(t, 1, func(d *task) { d.Role, d.Hold = roleDrain, time.Millisecond }))
			})
			t.Run("paced", func(t *testing.T) {
				sent := play(t, 1, func(d *task) { d.Role, d.Rate, d.Batch = rolePaced, 10_000, 10 })[0].Sent
				if len(sent) != n || !slices.IsSorted(sent) {
					t.Fatalf("%d jobs were sent, or not in order", len(sent))
				}
				reports := play(t, 1, func(d *task) { d.Role = roleWork })
				wantAll(t, reports)
				for _, b := range reports[0].Begun {
					if b.At < sent[b.N] {
						t.Fatalf("job %d began before it was sent", b.N)
					}
				}
			})
			t.Run("latency", func(t *testing.T) {
				reports := play(t, 1, func(d *task) { d.Role, d.Rate = roleLatency, 1000 })
				wantAll(t, reports)
				if sent := reports[0].Sent; len(sent) != n {
					t.Fatalf("%d jobs were sent", len(sent))
				}
			})
			t.Run("idle", func(t *testing.T) {
				if got := numbersOf(play(t, 1, func(d *task) { d.Role, d.For = roleIdle, time.Millisecond })); got != nil {
					t.Errorf("%d jobs were started", len(got))
				}
			})
		})
	}
}
