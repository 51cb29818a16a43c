package main

import "context"

// insertBy adds jobs one by one, from the callers of one process.
func insertBy(callers int) func(context.Context, running) (figures, error) {
	return func(ctx context.Context, r running) (figures, error) {
		t := r.profiled(r.task(roleInsert))
		t.Callers, t.Concurrency = callers, callers
		f, _, err := r.together(ctx, []task{t})
		f.isRate = true
		return f, err
	}
}

func bulk(ctx context.Context, r running) (figures, error) {
	t := r.profiled(r.task(roleBulk))
	t.Concurrency = 1
	f, _, err := r.together(ctx, []task{t})
	f.isRate = true
	return f, err
}
