package top

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// readTimeout bounds a read or a change: the database may not answer.
const readTimeout = 10 * time.Second

// Source reads frames of a database, which may be unreachable. After an error it opens the database again, because a file may have
// been replaced. It may be used concurrently: its calls run one after the other.
type Source struct {
	open func(context.Context) (jobs.Store, error)

	mu     sync.Mutex
	store  jobs.Store
	closed bool
}

// NewSource returns a source of the database that open opens. The first read calls open.
func NewSource(open func(context.Context) (jobs.Store, error)) *Source { return &Source{open: open} }

// Read returns the state of the queue now. It fails after 10 seconds without an answer.
func (s *Source) Read(ctx context.Context) (Frame, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, fmt.Errorf("no answer within %s", readTimeout))
	defer cancel()
	var frame Frame
	err := s.do(ctx, func(c *jobs.Client) (err error) {
		frame, err = readFrame(ctx, c)
		return err
	})
	return frame, err
}

// Change pauses or resumes a queue, and reports whether that changed its state. It fails after 10 seconds without an answer.
func (s *Source) Change(ctx context.Context, queue string, pause bool) (changed bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, fmt.Errorf("no answer within %s", readTimeout))
	defer cancel()
	err = s.do(ctx, func(c *jobs.Client) (err error) {
		if pause {
			changed, err = c.PauseQueue(ctx, queue)
		} else {
			changed, err = c.ResumeQueue(ctx, queue)
		}
		return err
	})
	return changed, err
}

// do calls fn with a client of the database, which it opens if necessary.
func (s *Source) do(ctx context.Context, fn func(*jobs.Client) error) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return context.Canceled
	}
	if s.store == nil {
		if s.store, err = s.open(ctx); err != nil {
			return err
		}
		if err := jobs.New(s.store).CheckSchema(ctx); err != nil {
			return s.reset(ctx, err)
		}
	}
	if err := fn(jobs.New(s.store)); err != nil {
		return s.reset(ctx, err)
	}
	return nil
}

// reset closes the database, so that the next call opens it again. It returns err, the cause of the end of ctx, and the error of the
// close.
func (s *Source) reset(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if closeErr := s.closeStore(); closeErr != nil {
		return fmt.Errorf("%w; %w", err, closeErr)
	}
	return err
}

// Close waits for the running call and closes the database. Later calls of the source fail.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.closeStore()
}

// closeStore closes the database if it is open. The caller holds mu.
func (s *Source) closeStore() error {
	store := s.store
	if s.store = nil; store == nil {
		return nil
	}
	if err := store.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}
