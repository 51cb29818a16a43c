package main

import (
	"context"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// unknownNames returns the unknown ones of a kind and a queue, of which either may be empty, and warns of them. A command that is about
// to write a name asks before that.
func (a *app) unknownNames(ctx context.Context, c *jobs.Client, kind, queue string) ([]inspect.UnknownName, error) {
	list, err := inspect.New(c).UnknownNames(ctx, []string{kind}, []string{queue})
	a.warnOfUnknownNames(list)
	return list, err
}

// hintUnknown warns of unknown kinds and queues of jobs that are about to be enqueued. A role that may only enqueue
// cannot read whether they are known, and gets no hint: the enqueue still succeeds.
func (a *app) hintUnknown(ctx context.Context, c *jobs.Client, kinds, queues []string) {
	if list, err := inspect.New(c).UnknownNames(ctx, kinds, queues); err == nil {
		a.warnOfUnknownNames(list)
	}
}

// maxNamesWarned limits the unknown names that one command warns of.
const maxNamesWarned = 10

func (a *app) warnOfUnknownNames(list []inspect.UnknownName) {
	for _, name := range list[:min(len(list), maxNamesWarned)] {
		a.printError("%s", name)
	}
	if len(list) > maxNamesWarned {
		a.printError("and %d more unknown names", len(list)-maxNamesWarned)
	}
}
