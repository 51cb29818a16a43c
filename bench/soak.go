package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// roleSoak runs a worker that prunes, and counts t.Jobs jobs without remembering them.
	roleSoak = "soak"
	// roleLoad is rolePaced without remembering when each job was sent.
	roleLoad = "load"
	// rolePrune removes t.Jobs finished jobs, which are all.
	rolePrune = "prune"

	// soakLoad is the share of the system's rate with jobs that are added, worked off and pruned at the same time.
	soakLoad = 0.7
	// soakWarm is the beginning that does not count: it includes the first pruning of finished jobs.
	soakWarm = 2 * time.Minute
	// soakLeast gives each third of the counted time a round of pruning, which comes once a minute.
	soakLeast = soakWarm + 3*time.Minute
	soakEvery = time.Second

	// A third may exceed an earlier one by this factor and this many bytes before it counts as growth.
	soakFactor = 1.1
	soakSlack  = 16 << 20
)

// soaked holds medians, in megabytes, of the first and the last third of a soak, without its beginning.
type soaked struct {
	Rate       float64 `json:"added_per_second"` // jobs
	RSSFirst   float64 `json:"rss_mb_first"`
	RSSLast    float64 `json:"rss_mb_last"`
	WALFirst   float64 `json:"wal_mb_first"`
	WALLast    float64 `json:"wal_mb_last"`
	TableFirst float64 `json:"table_mb_first"`
	TableLast  float64 `json:"table_mb_last"`
}

// soak keeps a worker under load for long: its memory, the WAL and the table must not grow.
func soak(ctx context.Context, r running) (figures, error) {
	if r.soak < soakLeast {
		return figures{}, fmt.Errorf("-soak must be at least %s", soakLeast)
	}
	most, err := r.throughput(ctx)
	if err != nil {
		return figures{}, err
	}
	rate := soakLoad * most
	worker := r.profiled(r.task(roleSoak))
	worker.Jobs = max(1, int(rate*r.soak.Seconds()))
	sizes, err := newSizes(ctx, r.database)
	if err != nil {
		return figures{}, err
	}
	f, samples, err := r.sampled(ctx, sizes, []task{worker, r.load(worker.Jobs, rate)})
	if err := errors.Join(err, sizes.close()); err != nil {
		return figures{}, err
	}
	f.isRate = true
	report := summary(samples, soakWarm)
	report.Rate = rate
	f.soak = &report
	return f, report.growth()
}

// load returns the task of a soak's producer.
func (r running) load(n int, rate float64) task {
	t := r.task(roleLoad)
	t.Jobs, t.Rate, t.Batch = n, rate, max(1, int(math.Round(rate*loadEvery.Seconds())))
	return t
}

// throughput measures the number of jobs a second that pass through the system when as many come as can and each is
// pruned in the end. It includes the server's later work in a longer run: it vacuums updated and pruned rows, and
// writes them to the tables.
func (r running) throughput(ctx context.Context) (float64, error) {
	const unlimited = 1e9
	producer := r.load(r.n, unlimited)
	producer.Batch = 200
	through, _, err := r.together(ctx, []task{r.task(roleSoak), producer})
	if err != nil {
		return 0, err
	}
	pruned, _, err := r.together(ctx, []task{r.task(rolePrune)})
	if err != nil {
		return 0, err
	}
	if n := through.errors + pruned.errors; n > 0 {
		return 0, fmt.Errorf("%d errors before the soak", n)
	}
	began := time.Now()
	if err := r.database.finishBackgroundWork(ctx); err != nil {
		return 0, err
	}
	return float64(r.n) / (through.seconds + pruned.seconds + time.Since(began).Seconds()), nil
}

// sampled runs together and takes samples meanwhile.
func (r running) sampled(ctx context.Context, sizes sizes, tasks []task) (figures, []sample, error) {
	var samples []sample
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	f, _, err := r.togetherWatched(ctx, tasks, func(workers children) {
		go func() {
			var err error
			samples, err = sizes.watch(watching, workers[0].cmd.Process.Pid)
			ended <- err
		}()
	}, func() error { stop(); return <-ended })
	stop()
	return f, samples, err
}

// summary returns the medians of the samples after the warm-up.
func summary(samples []sample, warm time.Duration) soaked {
	for len(samples) > 0 && samples[0].at < warm {
		samples = samples[1:]
	}
	third := len(samples) / 3
	first, last := samples[:third], samples[len(samples)-third:]
	of := func(part []sample, value func(sample) int64) float64 {
		var list []float64
		for _, s := range part {
			list = append(list, float64(value(s))/megabyte)
		}
		return median(list)
	}
	rss := func(s sample) int64 { return s.rss }
	wal := func(s sample) int64 { return s.wal }
	table := func(s sample) int64 { return s.table }
	return soaked{
		RSSFirst: of(first, rss), RSSLast: of(last, rss), WALFirst: of(first, wal), WALLast: of(last, wal),
		TableFirst: of(first, table), TableLast: of(last, table),
	}
}

// growth returns an error when a size grew.
func (s soaked) growth() error {
	var errs []error
	for _, c := range []struct {
		what        string
		first, last float64
	}{{"the worker's memory", s.RSSFirst, s.RSSLast}, {"the WAL", s.WALFirst, s.WALLast}, {"the table", s.TableFirst, s.TableLast}} {
		if c.last > c.first*soakFactor+soakSlack/megabyte {
			errs = append(errs, fmt.Errorf("%s grew from %.1f to %.1f MB", c.what, c.first, c.last))
		}
	}
	return errors.Join(errs...)
}
