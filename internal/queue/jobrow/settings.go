package jobrow

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Settings holds the settings that a job's row may leave to its kind. A zero value declares nothing.
type Settings struct {
	MaxAttempts int
	Timeout     time.Duration
}

// Kind holds all settings that programs declare of a kind. A zero value declares nothing.
type Kind struct {
	Settings
	Queue    string
	Priority int
	Limited  bool // the kind has a limit: its jobs need a limit key. [Declared.Read] sets it
}

// Kinds holds the declared settings of kinds, by name.
type Kinds map[string]Kind

// ReadKinds returns the settings of all kinds that programs declare.
func ReadKinds(ctx context.Context, q db.Querier) (Kinds, error) {
	rows, err := q.ListKindSettings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the declared settings of kinds: %w", err)
	}
	kinds := make(Kinds, len(rows))
	for _, r := range rows {
		kinds[r.Kind] = kindOf(r)
	}
	return kinds, nil
}

// ReadKind returns the settings of a kind; the zero value when no program has declared it.
func ReadKind(ctx context.Context, q db.Querier, kind string) (Kind, error) {
	row, err := q.GetKindSettings(ctx, kind)
	if errors.Is(err, sql.ErrNoRows) {
		return Kind{}, nil
	}
	if err != nil {
		return Kind{}, fmt.Errorf("read the declared settings of the kind: %w", err)
	}
	return kindOf(row), nil
}

// kindOf returns the settings of a row, without values that no job may have: another program wrote these.
func kindOf(r db.KindSetting) Kind {
	queue := r.Queue
	if core.ValidateName("queue", queue) != nil {
		queue = ""
	}
	return Kind{
		Settings{within(r.MaxAttempts, 0, jobtype.MaxAttemptsLimit), core.Duration(max(0, r.Timeout))},
		queue, within(r.Priority, jobtype.MinPriority, jobtype.MaxPriority), false,
	}
}

// within returns a number, or 0 if it is out of bounds.
func within(n, least, most int64) int {
	if n < least || n > most {
		return 0
	}
	return int(n)
}

// FillAll fills jobs of several kinds.
func FillAll(ctx context.Context, q db.Querier, list []jobtype.Job) error {
	if len(list) == 0 {
		return nil
	}
	kinds, err := kindsOf(ctx, q, list)
	if err != nil {
		return err
	}
	for i := range list {
		kinds[list[i].Kind].Fill(&list[i])
	}
	return nil
}

// kindsOf reads the settings of the jobs' kinds: of one kind alone if all jobs are of that kind.
func kindsOf(ctx context.Context, q db.Querier, list []jobtype.Job) (Kinds, error) {
	first := list[0].Kind
	for _, job := range list {
		if job.Kind != first {
			return ReadKinds(ctx, q)
		}
	}
	s, err := ReadKind(ctx, q, first)
	return Kinds{first: s}, err
}

// Fill sets the fields that the row of a job leaves to its kind, and records where each value comes from.
func (s Settings) Fill(job *jobtype.Job) {
	job.MaxAttempts, job.MaxAttemptsFrom = resolve(job.MaxAttempts, s.MaxAttempts, jobtype.DefaultMaxAttempts)
	job.Timeout, job.TimeoutFrom = resolve(job.Timeout, s.Timeout, 0)
}

// resolve returns the first value that is not zero: the job's own, its kind's, or else the default.
func resolve[T int | time.Duration](own, kind, standard T) (T, jobtype.SettingSource) {
	switch {
	case own != 0:
		return own, jobtype.SettingOfJob
	case kind != 0:
		return kind, jobtype.SettingOfKind
	}
	return standard, jobtype.SettingDefault
}
