//go:build linux

package main

import (
	"errors"
	"sync"

	"github.com/sqluice/sqluice/internal/history"
	"github.com/sqluice/sqluice/jobs"
)

// scribe writes a process's history also where there is nobody to return an error to: it keeps that for the end.
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

// observer notes the ends that were committed, of jobs whose handler notes its start. A handler's return does not tell: its
// process may die before the commit, and its end may be refused.
func (s *scribe) observer() *jobs.Observer {
	return &jobs.Observer{Finished: func(f jobs.Finished) {
		if f.Kind == kind && f.Fate == jobs.FateDone {
			s.note(history.Event{What: history.Ok, Job: f.ID, Attempt: f.Attempt})
		}
	}}
}

// close returns what went wrong, now and before.
func (s *scribe) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.err, s.Writer.Close())
}
