package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// history counts the runs of handlers on both sides.
type history struct {
	mu     sync.Mutex
	starts map[int64]int // of handlers
	ends   map[int64]int // of handlers that returned nil
	total  int
}

// handle follows a job's payload: it fails or snoozes that often, then succeeds.
func (h *history) handle(_ context.Context, job jobs.Job, args plan) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starts[job.ID]++
	h.total++
	switch run := h.starts[job.ID]; {
	case run <= args.Fail:
		return jobs.RetryIn(time.Millisecond, fmt.Errorf("run %d fails", run))
	case run <= args.Fail+args.Snooze:
		return jobs.Snooze(time.Millisecond)
	case args.Discard:
		return jobs.Discard(errors.New("not wanted"))
	}
	h.ends[job.ID]++
	return job.SetResult(fmt.Sprintf("result of %d <&>", job.ID))
}

type plan struct {
	Fail, Snooze int
	Discard      bool
}

// work runs jobs on a place until a total number of handlers has run, or all jobs are done.
func (l *lab) work(p *place, h *history, until int) {
	l.Helper()
	ctx, stop := context.WithCancel(l.ctx)
	defer stop()
	runner, err := jobs.NewRunner(l.client(p), jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: 3, "other": 2}, Logger: quiet(),
	})
	l.must(err)
	jobs.Kind[plan]{Name: "k"}.Handle(runner, func(ctx context.Context, job jobs.Job, args plan) error {
		err := h.handle(ctx, job, args)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.total >= until {
			stop()
		}
		return err
	})
	l.must(runner.Run(ctx))
}

// A queue that is moved twice in the middle of its life ends with every job done once.
func testEveryJobIsDoneOnce(l *lab) {
	h := &history{starts: map[int64]int{}, ends: map[int64]int{}}
	plans := map[int64]plan{}
	client := l.client(l.from)
	want := 0
	for i := range 60 {
		p := plan{Fail: i % 3, Snooze: i % 2, Discard: i%10 == 9}
		queue := []string{jobs.DefaultQueue, "other"}[i/2%2]
		receipt, err := jobs.Kind[plan]{Name: "k"}.Enqueue(l.ctx, client, p, jobs.Queue(queue), jobs.Priority(i%5),
			jobs.Unique(fmt.Sprint("u", i)), jobs.RequestID(fmt.Sprint("r", i)), jobs.Tags("t"), jobs.In(time.Duration(i%2)*time.Millisecond))
		l.must(err)
		plans[receipt.ID] = p
		want += p.Fail + p.Snooze + 1
	}
	for _, name := range []string{"paused", "other"} {
		_, err := client.PauseQueue(l.ctx, name)
		l.must(err)
	}
	_, err := client.Enqueue(l.ctx, "k", json.RawMessage(`{}`), jobs.Queue("paused"))
	l.must(err)
	_, err = client.PauseKind(l.ctx, jobs.DefaultQueue, "later", jobs.PauseFor(time.Hour))
	l.must(err)
	later, err := client.Enqueue(l.ctx, "later", json.RawMessage(`{}`))
	l.must(err)

	l.work(l.from, h, 30)
	l.moves(l.config())
	_, err = l.client(l.to).ResumeQueue(l.ctx, "other")
	l.must(err)
	l.work(l.to, h, want-30)
	back := l.fromEngine.place(l.T)
	l.moves(Config{From: l.side(l.to), To: l.side(back)})
	l.work(back, h, want)

	final := l.client(back)
	for id, p := range plans {
		job, err := final.Get(l.ctx, id)
		l.must(err)
		runs, status := p.Fail+p.Snooze+1, jobs.StatusDone
		ends, errs := 1, p.Fail
		if p.Discard {
			status, ends, errs = jobs.StatusFailed, 0, errs+1
		}
		returned := job.Uncounted - p.Snooze // claims that were released before they began, when the worker stopped
		if h.starts[id] != runs || h.ends[id] != ends || job.Status != status || returned < 0 || job.Attempt != runs+returned {
			l.Errorf("job %d with %+v: %d runs, %d ends, %+v", id, p, h.starts[id], h.ends[id], job)
		}
		list, err := inspect.New(final).Errors(l.ctx, id)
		l.must(err)
		if len(list) != errs {
			l.Errorf("job %d with %+v has %d errors: %+v", id, p, len(list), list)
		}
		// A request id is remembered on whichever side the queue is.
		again, err := jobs.Kind[plan]{Name: "k"}.Enqueue(l.ctx, final, p, jobs.RequestID(job.RequestID))
		l.must(err)
		if again.ID != id || !again.Existed {
			l.Errorf("request %s gives job %d, not %d", job.RequestID, again.ID, id)
		}
	}
	if h.total != want {
		l.Errorf("%d handlers ran, not %d", h.total, want)
	}
	waiting, err := inspect.New(final).List(l.ctx, inspect.Filter{Queue: "paused"})
	if err != nil || len(waiting) != 1 || waiting[0].Status != jobs.StatusPending {
		l.Errorf("the paused queue has %+v, %v", waiting, err)
	}
	if why, err := inspect.New(final).Why(l.ctx, later.ID); err != nil || why.Findings[0].Reason != inspect.ReasonKindPaused {
		l.Errorf("the job of the paused kind waits because of %+v, %v", why, err)
	}
	if rows := l.everything(back).pauses; len(rows) != 2 || rows[0].Kind != "later" || rows[1].Queue != "paused" {
		l.Errorf("the pauses are %+v", rows)
	}
}
