//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// storedPage is the number of rows that are read at a time.
const storedPage = 1000

// read reads the stored rows.
func (f *fleet) read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return engine.StoreOf(f.client.Store()).Read(ctx, fn)
}

// checkStored finds stored values that are plain, or encrypted with another key than one.
func (f *fleet) checkStored(ctx context.Context, key string) error {
	var found []string
	check := func(name, stored string, mayBePlain bool) {
		switch is := cipher.KeyOf(stored); {
		case stored == "" || is == key:
		case is != "":
			found = append(found, fmt.Sprintf("%s is encrypted with the key %s, and not with %s", name, is, key))
		case !mayBePlain || strings.Contains(stored, enqueuerName):
			found = append(found, fmt.Sprintf("%s is plain: %.40q", name, stored))
		}
	}
	err := f.eachHead(ctx, func(h db.ListValueHeadsRow) {
		check(fmt.Sprintf("the payload of job %d", h.ID), h.Payload, h.Payload == jobtype.ForgottenJSON)
		check(fmt.Sprintf("the progress of job %d", h.ID), h.Progress, false)
		check(fmt.Sprintf("the result of job %d", h.ID), h.Result, false)
		check(fmt.Sprintf("the last error of job %d", h.ID), h.LastError, true) // of a crash it is plain
	})
	if err == nil {
		err = f.eachError(ctx, func(e db.ListErrorTextsRow) {
			check(fmt.Sprintf("error %d, of job %d,", e.ID, e.JobID), e.Message, true)
			check(fmt.Sprintf("the stack of error %d", e.ID), e.Stack, false)
		})
	}
	if err == nil {
		err = f.read(ctx, func(ctx context.Context, q db.Querier) error {
			list, err := q.ListSchedules(ctx, db.ListSchedulesParams{N: storedPage})
			for _, s := range list {
				check("the payload of schedule "+s.Name, s.Payload, false)
			}
			return err
		})
	}
	f.trial.find(tally{other: found})
	return err
}

// eachHead calls fn with how the values of each job begin.
func (f *fleet) eachHead(ctx context.Context, fn func(db.ListValueHeadsRow)) error {
	return eachStored(ctx, f, func(ctx context.Context, q db.Querier, after int64) ([]db.ListValueHeadsRow, error) {
		return q.ListValueHeads(ctx, db.ListValueHeadsParams{AfterID: after, N: storedPage})
	}, func(row db.ListValueHeadsRow) int64 {
		fn(row)
		return row.ID
	})
}

// eachError calls fn with the texts of each attempt that has a row.
func (f *fleet) eachError(ctx context.Context, fn func(db.ListErrorTextsRow)) error {
	return eachStored(ctx, f, func(ctx context.Context, q db.Querier, after int64) ([]db.ListErrorTextsRow, error) {
		return q.ListErrorTexts(ctx, db.ListErrorTextsParams{AfterID: after, N: storedPage})
	}, func(row db.ListErrorTextsRow) int64 {
		fn(row)
		return row.ID
	})
}

// eachStored calls fn, which returns the row's id, with each row that list finds, page by page.
func eachStored[R any](ctx context.Context, f *fleet, list func(ctx context.Context, q db.Querier, after int64) ([]R, error), fn func(R) int64) error {
	for after := int64(0); ; {
		var page []R
		err := f.read(ctx, func(ctx context.Context, q db.Querier) (err error) {
			page, err = list(ctx, q, after)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, row := range page {
			after = fn(row)
		}
	}
}

// checkErrors finds attempts of workers that could not decrypt a payload, and returns how many errors handlers returned.
func (f *fleet) checkErrors(ctx context.Context, key string) (returned int, err error) {
	c, err := cipher.New(keysOf([]string{key}))
	if err != nil {
		return 0, err
	}
	err = f.eachError(ctx, func(e db.ListErrorTextsRow) {
		text, err := c.Open(e.Kind, cipher.Error, e.Message)
		switch {
		case err != nil:
			f.wrong("error %d, of job %d: %v", e.ID, e.JobID, err)
		case strings.Contains(text, jobs.ErrKey.Error()):
			f.wrong("job %d could not be run: %s", e.JobID, text)
		case strings.Contains(text, enqueuerName):
			returned++
		}
	})
	return returned, err
}

// checkErased finds remains of the jobs of a forgotten user.
func (f *fleet) checkErased(ctx context.Context, user string) error {
	for after := int64(0); ; {
		list, err := inspect.New(f.client).List(ctx, inspect.Filter{UserID: user, After: after, Limit: inspect.MaxPage})
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1].ID
		for _, job := range list {
			errs, err := inspect.New(f.client).Errors(ctx, job.ID)
			if err != nil {
				return err
			}
			erased := string(job.Payload) == jobtype.ForgottenJSON && job.Metadata == nil && job.Tags == nil && job.Progress == nil && job.Result == nil && job.LastError == ""
			for _, e := range errs {
				erased = erased && e.Message == jobs.Forgotten && e.Stack == ""
			}
			if !erased || !job.Status.Final() {
				f.wrong("job %d of the forgotten user %q, which is %s, has left the payload %s, the progress %s, the result %s and the errors %q, %+v",
					job.ID, user, job.Status, job.Payload, job.Progress, job.Result, job.LastError, errs)
			}
		}
	}
}

// checkFiles finds plain payloads in the files of a SQLite database, also in deleted rows.
func (f *fleet) checkFiles() error {
	if f.trial.engine != onSQLite {
		return nil
	}
	for _, path := range []string{f.address, f.address + "-wal"} {
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if at := bytes.Index(data, []byte(enqueuerName)); at >= 0 {
			f.wrong("the file %s has a plain payload at byte %d", path, at)
		}
	}
	return nil
}
