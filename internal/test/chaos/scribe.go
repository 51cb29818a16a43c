//go:build linux

package main

import (
	"errors"
	"sync"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/jobs"
)

// scribe writes a process's history. It keeps errors for the end, because its callers cannot return them.
type scribe struct {
	*history.Writer

	mu  sync.Mutex
	err error
}

func newScribe(path, process string) (*scribe, error) {
	w, err := history.Append(path, process)
	return &scribe{Writer: w}, err
}

func (s *scribe) note(e history.Event) {
	if err := s.Write(e); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = errors.Join(s.err, err)
	}
}

// observer records the committed ends of jobs whose handler records its start. A handler's return is not enough: its
// process may die before the commit, and its end may be refused.
func (s *scribe) observer() *jobs.Observer {
	return &jobs.Observer{Finished: func(f jobs.Finished) {
		if (f.Kind == kind || f.Kind == newKind) && f.Fate == jobs.FateDone {
			s.note(history.Event{What: history.Ok, Job: f.ID, Attempt: f.Attempt})
		}
	}}
}

// close returns the first error, now or before.
func (s *scribe) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.err, s.Writer.Close())
}
