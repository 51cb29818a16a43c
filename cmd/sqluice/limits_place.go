package main

import (
	"strconv"

	"github.com/spf13/pflag"
	"github.com/sqluice/sqluice/internal/limitplace"
)

// limitPlace is the place of a limit, from flags and arguments.
type limitPlace struct{ limitplace.Place }

// flags adds the flags of places.
func (p *limitPlace) flags(flags *pflag.FlagSet) {
	flags.Var(&nameValue{&p.Queue}, "queue", "the limit of all jobs of the queue `NAME` together, in place of one of a KIND")
	flags.BoolVar(&p.Total, "total", false, "the limit of all jobs of the KIND together")
}

// read takes the place from the arguments of a command.
func (p *limitPlace) read(args []string) error {
	switch {
	case p.Queue != "" && (len(args) > 0 || p.Total):
		return usagef("--queue is for all jobs of a queue: it cannot be given with KIND or --total")
	case p.Queue != "":
		return nil
	case len(args) == 0:
		return usagef("KIND is missing, or --queue")
	case len(args) > 1 && p.Total:
		return usagef("--total is for all jobs of a kind: it cannot be given with KEY")
	case len(args) > 1 && args[1] == "":
		return usagef("KEY must not be empty: leave it out for the limit of each key")
	case len(args) > 1:
		p.Key = args[1]
	}
	p.Kind = args[0]
	return nil
}

// String returns the place for people.
func (p *limitPlace) String() string {
	text := "kind " + strconv.Quote(p.Kind)
	switch {
	case p.Queue != "":
		return "queue " + strconv.Quote(p.Queue)
	case p.Total:
		return text + ", all jobs"
	case p.Key == "":
		return text + ", each key"
	}
	return text + ", key " + strconv.Quote(p.Key)
}
