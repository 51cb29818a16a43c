package guides_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Export is the payload of a job that exports a tenant's data.
type Export struct{ Tenant string }

var ExportData = jobs.Kind[Export]{Name: "export"}

// enqueueExport adds a job to the queue of a tenant, unless one of this tenant waits or runs.
func enqueueExport(ctx context.Context, client *jobs.Client, tenant string) (jobs.Receipt, error) {
	return ExportData.Enqueue(ctx, client, Export{Tenant: tenant},
		jobs.Queue("tenant-"+tenant), jobs.UserID(tenant), jobs.Unique(tenant))
}

func Example_tenants() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()

	queues := map[string]int{}
	for _, tenant := range []string{"ada", "bob"} {
		queues["tenant-"+tenant] = 2 // at most two jobs of each tenant at once, in this process
	}
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: queues})
	check(err)
	ExportData.Handle(runner, func(ctx context.Context, job jobs.Job, args Export) error {
		return job.SetResult("the data of " + args.Tenant)
	})
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- runner.Run(running) }()

	receipt, err := enqueueExport(ctx, client, "eve")
	check(err)
	check(runner.SetQueue("tenant-eve", 2)) // a tenant that came while the runner runs
	job, err := client.Wait(ctx, receipt.ID)
	check(err)
	fmt.Println(job.Queue, string(job.Result))

	_, err = client.PauseQueue(ctx, "tenant-eve", jobs.PauseFor(time.Hour)) // in all processes
	check(err)
	stop()
	check(<-stopped)
	// Output: tenant-eve "the data of eve"
}
