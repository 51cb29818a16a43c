package main

import (
	"context"
	"strconv"

	"github.com/spf13/pflag"
	"github.com/sqluice/sqluice/jobs"
)

// limitPlace names the jobs of a limit.
type limitPlace struct {
	kind, key, queue string
	total            bool
}

// flags adds the flags of places.
func (p *limitPlace) flags(flags *pflag.FlagSet) {
	flags.Var(&nameValue{&p.queue}, "queue", "the limit of all jobs of the queue `NAME` together, in place of one of a KIND")
	flags.BoolVar(&p.total, "total", false, "the limit of all jobs of the KIND together")
}

// read takes the place from the arguments of a command.
func (p *limitPlace) read(args []string) error {
	switch {
	case p.queue != "" && (len(args) > 0 || p.total):
		return usagef("--queue is for all jobs of a queue: it cannot be given with KIND or --total")
	case p.queue != "":
		return nil
	case len(args) == 0:
		return usagef("KIND is missing, or --queue")
	case len(args) > 1 && p.total:
		return usagef("--total is for all jobs of a kind: it cannot be given with KEY")
	case len(args) > 1 && args[1] == "":
		return usagef("KEY must not be empty: leave it out for the limit of each key")
	case len(args) > 1:
		p.key = args[1]
	}
	p.kind = args[0]
	return nil
}

// String returns the place for people.
func (p *limitPlace) String() string {
	text := "kind " + strconv.Quote(p.kind)
	switch {
	case p.queue != "":
		return "queue " + strconv.Quote(p.queue)
	case p.total:
		return text + ", all jobs"
	case p.key == "":
		return text + ", each key"
	}
	return text + ", key " + strconv.Quote(p.key)
}

// isEach reports whether the limit is for each key of a kind by itself.
func (p *limitPlace) isEach() bool { return p.queue == "" && !p.total && p.key == "" }

// is reports whether a limit is that of the place.
func (p *limitPlace) is(l jobs.LimitInfo) bool {
	return l.Kind == p.kind && l.Key == p.key && l.Queue == p.queue && l.Total == p.total
}

// set sets the limit of the place.
func (p *limitPlace) set(ctx context.Context, c *jobs.Client, v jobs.LimitValues) error {
	switch {
	case p.queue != "":
		return c.SetQueueLimit(ctx, p.queue, v)
	case p.total:
		return c.SetTotalLimit(ctx, p.kind, v)
	}
	return c.SetLimit(ctx, p.kind, p.key, v)
}

// delete deletes the limit of the place.
func (p *limitPlace) delete(ctx context.Context, c *jobs.Client) (bool, error) {
	switch {
	case p.queue != "":
		return c.DeleteQueueLimit(ctx, p.queue)
	case p.total:
		return c.DeleteTotalLimit(ctx, p.kind)
	}
	return c.DeleteLimit(ctx, p.kind, p.key)
}
