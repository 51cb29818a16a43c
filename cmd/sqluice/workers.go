package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) workersCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List the live workers",
		Long: "workers lists the workers that have not ended. One whose process died is listed until another worker notices,\n" +
			"which takes about a second, or for two leases where no other worker runs.",
		GroupID: groupRun,
		Args:    noArgs(),
		RunE:    a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error { return a.workers(ctx, c, asJSON) }),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func (a *app) workers(ctx context.Context, c *jobs.Client, asJSON bool) error {
	workers, err := inspect.New(c).Workers(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(workers)
	}
	now := inspect.New(c).Now()
	t := newTable(a.out, "ID", "NAME", "HOST", "PID", "RUNNING", "QUEUES", "KINDS", "STARTED", "HEARTBEAT")
	for _, w := range workers {
		var queues []string
		for _, name := range slices.Sorted(maps.Keys(w.Queues)) {
			queues = append(queues, fmt.Sprintf("%s=%d", name, w.Queues[name]))
		}
		t.row(strconv.FormatInt(w.ID, 10), w.Name, w.Host, strconv.Itoa(w.PID), strconv.FormatInt(w.Running, 10),
			strings.Join(queues, " "), strings.Join(w.Kinds, " "), human.Age(now, w.StartedAt), human.Age(now, w.Heartbeat))
	}
	return t.close()
}
