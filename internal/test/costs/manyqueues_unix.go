//go:build unix

package costs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// paced is the number of jobs that BenchmarkManyQueues enqueues a second.
const paced = 100

// BenchmarkManyQueues measures a runner with 1, 100 and 1,000 queues, each in an empty database on which open makes two stores: by
// one of them 100 jobs a second are added, each to another queue, and the runner works on the other as in another process. It
// reports the CPU time of this process for each job, and the median of the time from before an enqueue to its handler.
func BenchmarkManyQueues(b *testing.B, open func(b *testing.B) (runner, other jobs.Store)) {
	for _, queues := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("Queues%d", queues), func(b *testing.B) {
			own, other := open(b)
			names, slots := make([]string, queues), map[string]int{}
			for i := range names {
				names[i] = fmt.Sprintf("queue-%d", i)
				slots[names[i]] = 10
			}
			config := jobs.Config{Queues: slots, Logger: slog.New(slog.DiscardHandler)}
			runner, err := jobs.NewRunner(jobs.New(own), config)
			if err != nil {
				b.Fatal(err)
			}
			var mu sync.Mutex
			var took []time.Duration
			ran := make(chan struct{}, 1000)
			kind := jobs.Kind[time.Time]{Name: benchKind}
			kind.Handle(runner, func(_ context.Context, _ jobs.Job, sent time.Time) error {
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(sent))
				ran <- struct{}{}
				return nil
			})
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() { ended <- runner.Run(ctx) }()
			client := jobs.New(other)
			enqueue := func(i int) {
				if _, err := kind.Enqueue(b.Context(), client, time.Now(), jobs.Queue(names[i*7919%queues])); err != nil {
					b.Fatal(err)
				}
			}
			enqueue(0)
			<-ran
			took = nil
			pace := time.NewTicker(time.Second / paced)
			defer pace.Stop()
			before := cpuTime(b)
			b.ResetTimer()
			for i := range b.N {
				<-pace.C
				enqueue(i)
			}
			for range b.N {
				<-ran
			}
			b.StopTimer()
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-us/job")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			stop()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		})
	}
}

// cpuTime returns the CPU time that this process has taken.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
