package postgres

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// errStopped is the error for the functions of a pipeline that end because another function failed.
var errStopped = errors.New("another statement of the transaction failed")

// inPipeline is the context key for a function's place in a pipeline.
type inPipeline struct{}

// statementText is a statement that is not sent yet.
type statementText struct {
	sql  string
	args []any
}

// pipelinePlace is a function's place in a pipeline. The function pauses at its first statement until the server has answered it.
type pipelinePlace struct {
	resume  func() (statementText, bool) // runs the function up to its next statement; false when it has ended
	yield   func(statementText) bool
	waits   bool
	direct  bool             // further statements are sent alone
	results pgx.BatchResults // whose next answer is for this function's statement
	began   time.Time        // when the previous answer had been read
	err     error            // result of the function
}

// wait pauses the function until its statement was sent. It returns the results to read the answer from, or nil when the
// statement must be sent alone.
func (p *pipelinePlace) wait(sql string, args []any) (pgx.BatchResults, error) {
	if p.direct {
		return nil, nil
	}
	if !p.yield(statementText{sql, args}) {
		return nil, errStopped
	}
	results := p.results
	p.results = nil
	if results == nil {
		return nil, nil
	}
	return sharedResults{results}, nil
}

// sharedResults is the results of a whole pipeline: the reader of one answer does not close them.
type sharedResults struct{ pgx.BatchResults }

func (sharedResults) Close() error { return nil }

// together runs functions in order; nil ones are skipped. Where statements may be prepared, the first statements of all share a
// round trip: none of these may depend on another function's result. One function runs at a time.
func (t *transaction) together(ctx context.Context, q db.Querier, fns []engine.Func) error {
	fns = slices.DeleteFunc(slices.Clone(fns), func(fn engine.Func) bool { return fn == nil })
	if !t.prepare || len(fns) < 2 {
		return engine.InOrder(ctx, q, fns)
	}
	return t.pipeline(ctx, q, fns)
}

// pipeline runs each function up to its first statement, sends these in one round trip, and resumes each function at its
// answer.
func (t *transaction) pipeline(ctx context.Context, q db.Querier, fns []engine.Func) error {
	places, statements := make([]*pipelinePlace, len(fns)), make([]statementText, 0, len(fns))
	prepared := true
	for i, fn := range fns {
		p := &pipelinePlace{}
		places[i] = p
		resume, stop := iter.Pull(func(yield func(statementText) bool) {
			p.yield = yield
			p.err = fn(context.WithValue(ctx, inPipeline{}, p), q)
		})
		defer stop()
		p.resume = resume
		var s statementText
		if s, p.waits = resume(); p.waits {
			statements = append(statements, s)
			prepared = prepared && t.direct.prepared(s.sql)
		} else if p.err != nil {
			return p.err
		}
	}
	if prepared {
		if err := t.sendTogether(ctx, places, statements); err != nil {
			return err
		}
	}
	for _, p := range places {
		if p.direct = true; p.waits {
			p.resume()
		}
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// sendTogether sends statements and resumes the functions to read the answers.
func (t *transaction) sendTogether(ctx context.Context, places []*pipelinePlace, statements []statementText) (err error) {
	var batch pgx.Batch
	take := t.sendWith(&batch)
	for _, s := range statements {
		batch.Queue(s.sql, s.args...)
	}
	t.watch.extend()
	results := t.conn.Conn().SendBatch(ctx, &batch)
	defer func() {
		if closeErr := results.Close(); err == nil {
			err = closeErr
		}
	}()
	if take != nil {
		if err := take(results); err != nil {
			return err
		}
	}
	for _, p := range places {
		if !p.waits {
			continue
		}
		p.results, p.began = results, time.Now()
		if _, p.waits = p.resume(); p.err != nil {
			return p.err
		}
	}
	return nil
}
