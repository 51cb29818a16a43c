package main

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestSummaryOfASoak(t *testing.T) {
	var samples []sample
	for i := range 100 { // 10 that do not count, then 90 in thirds
		samples = append(samples, sample{
			at: time.Duration(i) * time.Second, rss: int64(i) * megabyte, wal: 5 * megabyte, table: int64(1000-i) * megabyte,
		})
	}
	got := summary(samples, 10*time.Second)
	want := soaked{RSSFirst: 24.5, RSSLast: 84.5, WALFirst: 5, WALLast: 5, TableFirst: 975.5, TableLast: 915.5}
	if got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if got := summary(samples[:5], 10*time.Second); got != (soaked{}) {
		t.Errorf("a soak that ended in its beginning: %+v", got)
	}
}

func TestGrowthOfASoak(t *testing.T) {
	flat := soaked{RSSFirst: 40, RSSLast: 59.9, WALFirst: 4, WALLast: 4, TableFirst: 1000, TableLast: 1115}
	if err := flat.growth(); err != nil {
		t.Errorf("within the bounds, but: %v", err)
	}
	for _, grown := range []soaked{
		{RSSFirst: 40, RSSLast: 60.1}, {WALFirst: 4, WALLast: 20.5}, {TableFirst: 1000, TableLast: 1117},
	} {
		if grown.growth() == nil {
			t.Errorf("%+v is not growth", grown)
		}
	}
}

// The parts of a soak together, for the length of a sample.
func TestSoakInShort(t *testing.T) {
	for name, e := range map[string]func(*testing.T) engine{
		onSQLite: func(*testing.T) engine { return files{} }, onPostgreSQL: func(t *testing.T) engine { return testServer(t) },
	} {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(ours(), func(c contender) bool { return c.name == sqluice && c.engine == name })
			soakInShort(t, e(t), ours()[i])
		})
	}
}

func soakInShort(t *testing.T, e engine, system contender) {
	t.Helper()
	d, err := e.create(t.Context(), system.durability)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.drop(); err != nil {
			t.Error(err)
		}
	}()
	s, err := parse([]string{"-concurrency", "20"})
	if err != nil {
		t.Fatal(err)
	}
	r := running{settings: s, contender: system, database: d, n: 500}
	if most, err := r.throughput(t.Context()); err != nil || most <= 0 {
		t.Fatalf("%v jobs a second, %v", most, err)
	}
	sizes, err := newSizes(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	const rate, n = 200, 500
	worker := r.task(roleSoak)
	worker.Jobs = n
	f, samples, err := r.sampled(t.Context(), sizes, []task{worker, r.load(n, rate)})
	if err := errors.Join(err, sizes.close()); err != nil {
		t.Fatal(err)
	}
	if f.errors != 0 || f.processes != 1 || f.n != n {
		t.Errorf("%+v", f)
	}
	if len(samples) == 0 {
		t.Fatal("no samples")
	}
	if last := samples[len(samples)-1]; last.table <= 0 || last.wal <= 0 || runtime.GOOS == "linux" && last.rss <= 0 {
		t.Errorf("%+v", last)
	}
}
