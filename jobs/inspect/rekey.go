package inspect

import (
	"context"
	"fmt"
	"maps"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// RekeyOptions says what [Inspector.Rekey] changes. The zero value is what a change of the key needs.
type RekeyOptions struct {
	Plain bool // also encrypt what is not encrypted
}

// Rekeyed is what [Inspector.Rekey] did.
type Rekeyed struct {
	Jobs      int64 `json:"jobs"`      // that were encrypted with the first key
	Errors    int64 `json:"errors"`    // of attempts
	Schedules int64 `json:"schedules"` // their payloads

	// Unreadable is how many values are encrypted with keys that the client does not have, and Keys the ids of these keys. They are as they were.
	Unreadable int64            `json:"unreadable"`
	Keys       map[string]int64 `json:"keys,omitempty"`
}

// rekeyTries bounds how often a job is read again that changed meanwhile, as one that runs may.
const rekeyTries = 10

// rekeyPage is how many rows one transaction changes at most.
const rekeyPage = 200

// Rekey encrypts again, with the first key of the client's cipher, what is encrypted with another one: payloads, results, progress, errors and
// stacks, and the payloads of schedules. Everything may go on meanwhile, if all programs have both keys. It reads all jobs, changes them in
// transactions of a few hundred, and can be repeated: an error half-way leaves some of them changed. The error is an [jobs.InvalidError] when
// the client has no cipher. What a schedule declared in code carries is encrypted by the runners that declare it.
func (in *Inspector) Rekey(ctx context.Context, o RekeyOptions) (Rekeyed, error) {
	r := rekey{in: in, options: o, done: Rekeyed{Keys: map[string]int64{}}}
	author, err := audit.Of(ctx)
	if err == nil && in.scope.Cipher == nil {
		err = jobtype.NewInvalidError("cipher", "none", "be given to the client: see WithCipher")
	}
	for _, part := range []func(context.Context) error{r.jobs, r.errors, r.schedules} {
		if err == nil {
			err = part(ctx)
		}
	}
	if r.done.Jobs+r.done.Errors+r.done.Schedules > 0 && author != nil {
		if failed := r.record(ctx, author); err == nil {
			err = failed
		}
	}
	if err != nil {
		return r.done, fmt.Errorf("encrypt with another key: %w", err)
	}
	return r.done, nil
}

// rekey is one call of Rekey.
type rekey struct {
	in      *Inspector
	options RekeyOptions
	done    Rekeyed
}

// record adds an entry to the audit log.
func (r *rekey) record(ctx context.Context, author *audit.Author) error {
	detail, err := author.Detail(map[string]int64{"errors": r.done.Errors, "schedules": r.done.Schedules})
	if err != nil {
		return err
	}
	return r.write(ctx, func(ctx context.Context, q db.Querier) error {
		return author.Record(ctx, q, core.Micros(r.in.scope.Now()), audit.Entry{Action: jobtype.ActionRekey, Jobs: r.done.Jobs, Detail: detail})
	})
}

func (r *rekey) write(ctx context.Context, fn engine.Func) error {
	return lifecycle.Change(ctx, r.in.scope, 0, fn)
}

// wants reports whether a value, of which this may be the beginning, must be encrypted with the first key.
func (r *rekey) wants(stored string) bool {
	if cipher.Encrypted(stored) {
		return !r.in.scope.Cipher.Current(stored)
	}
	return r.options.Plain && stored != ""
}

// value returns what is stored from now on, and whether that is something else. json says that it is JSON.
func (r *rekey) value(kind string, column cipher.Column, stored string, json bool) (string, bool, error) {
	if !r.wants(stored) {
		return stored, false, nil
	}
	c := r.in.scope.Cipher
	text, err := c.Open(kind, column, stored)
	if err != nil {
		r.done.Unreadable++
		r.done.Keys[cipher.KeyOf(stored)]++
		return stored, false, nil // it stays as it is
	}
	if json {
		text, err = c.JSON(kind, column, []byte(text))
	} else {
		text, err = c.Text(kind, column, text)
	}
	return text, true, err
}

// jobs goes through all jobs.
func (r *rekey) jobs(ctx context.Context) error {
	for after := int64(0); ; {
		var heads []db.ListValueHeadsRow
		err := r.in.scope.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
			heads, err = q.ListValueHeads(ctx, db.ListValueHeadsParams{AfterID: after, N: MaxPage})
			return err
		})
		if err != nil || len(heads) == 0 {
			return err
		}
		after = heads[len(heads)-1].ID
		wanted := heads[:0]
		for _, h := range heads {
			if r.wants(h.Payload) || r.wants(h.Progress) || r.wants(h.Result) || r.wants(h.LastError) {
				wanted = append(wanted, h)
			}
		}
		for part := range portions(wanted, func(h db.ListValueHeadsRow) int64 { return h.Bytes }) {
			ids := make([]int64, len(part))
			for i, h := range part {
				ids[i] = h.ID
			}
			if err := r.jobsApart(ctx, ids); err != nil {
				return err
			}
		}
	}
}

// jobsApart changes jobs in transactions of a few hundred, and those again that changed meanwhile.
func (r *rekey) jobsApart(ctx context.Context, ids []int64) error {
	for range rekeyTries {
		var changed []int64
		for len(ids) > 0 {
			part := ids[:min(rekeyPage, len(ids))]
			ids = ids[len(part):]
			again, err := r.jobsTogether(ctx, part)
			if err != nil {
				return err
			}
			changed = append(changed, again...)
		}
		if ids = changed; len(ids) == 0 {
			return nil
		}
	}
	return fmt.Errorf("job %d changes too often: run it again", ids[0])
}

// jobsTogether changes jobs in one transaction. It returns those that changed since they were read.
func (r *rekey) jobsTogether(ctx context.Context, ids []int64) (again []int64, err error) {
	before, n := r.done, int64(0)
	err = r.write(ctx, func(ctx context.Context, q db.Querier) error {
		r.done.Unreadable, r.done.Keys, again, n = before.Unreadable, maps.Clone(before.Keys), nil, 0
		rows, err := q.ListJobs(ctx, core.JSONIDs(ids))
		if err != nil {
			return err
		}
		for _, row := range rows {
			p, changes, err := r.params(row)
			if err != nil {
				return err
			}
			if !changes {
				continue
			}
			written, err := q.RekeyJob(ctx, p)
			if err != nil {
				return err
			}
			if n += written; written == 0 {
				again = append(again, row.ID)
			}
		}
		return nil
	})
	if err == nil {
		r.done.Jobs += n
	}
	return again, err
}

// params returns the parameters of the statement for a job, and whether anything changes.
func (r *rekey) params(row db.Job) (p db.RekeyJobParams, changes bool, err error) {
	p = db.RekeyJobParams{
		ID: row.ID, Progress: row.Progress, NewResult: row.Result, LastError: row.LastError,
		OldPayload: row.Payload, OldProgress: core.Deref(row.Progress), OldResult: core.Deref(row.Result), OldLastError: core.Deref(row.LastError),
	}
	if p.Payload, changes, err = r.value(row.Kind, cipher.Payload, row.Payload, true); err != nil {
		return p, false, err
	}
	for _, v := range []struct {
		column cipher.Column
		stored **string
		json   bool
	}{{cipher.Progress, &p.Progress, true}, {cipher.Result, &p.NewResult, true}, {cipher.Error, &p.LastError, false}} {
		if *v.stored == nil {
			continue
		}
		text, other, err := r.value(row.Kind, v.column, **v.stored, v.json)
		if err != nil {
			return p, false, err
		}
		if other {
			*v.stored, changes = &text, true
		}
	}
	return p, changes, nil
}

// errors goes through the attempts that did not end well.
func (r *rekey) errors(ctx context.Context) error {
	for after := int64(0); ; {
		var rows []db.ListErrorTextsRow
		before, n := r.done, int64(0)
		err := r.write(ctx, func(ctx context.Context, q db.Querier) (err error) {
			r.done.Unreadable, r.done.Keys, n = before.Unreadable, maps.Clone(before.Keys), 0
			if rows, err = q.ListErrorTexts(ctx, db.ListErrorTextsParams{AfterID: after, N: rekeyPage}); err != nil {
				return err
			}
			for _, row := range rows {
				message, first, err := r.value(row.Kind, cipher.Error, row.Message, false)
				if err != nil {
					return err
				}
				stack, second, err := r.value(row.Kind, cipher.Stack, row.Stack, false)
				if err != nil {
					return err
				}
				if !first && !second {
					continue
				}
				n++
				err = q.RekeyJobError(ctx, db.RekeyJobErrorParams{ID: row.ID, Message: message, Stack: stack, OldMessage: row.Message, OldStack: row.Stack})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		r.done.Errors += n
		after = rows[len(rows)-1].ID
	}
}

// schedules goes through the schedules.
func (r *rekey) schedules(ctx context.Context) error {
	for after := ""; ; {
		var rows []db.Schedule
		before, n := r.done, int64(0)
		err := r.write(ctx, func(ctx context.Context, q db.Querier) (err error) {
			r.done.Unreadable, r.done.Keys, n = before.Unreadable, maps.Clone(before.Keys), 0
			if rows, err = q.ListSchedules(ctx, db.ListSchedulesParams{AfterName: after, N: 10}); err != nil {
				return err
			}
			for _, row := range rows {
				if !r.wants(row.Payload) {
					continue
				}
				payload, err := r.in.scope.Cipher.Open(row.Kind, cipher.Payload, row.Payload)
				if err != nil {
					r.done.Unreadable++
					r.done.Keys[cipher.KeyOf(row.Payload)]++
					continue
				}
				if payload, err = r.in.scope.Cipher.Schedule(row.Kind, []byte(payload)); err != nil {
					return err
				}
				written, err := q.RekeySchedule(ctx, db.RekeyScheduleParams{Name: row.Name, Payload: payload, OldPayload: row.Payload})
				if err != nil {
					return err
				}
				n += written
			}
			return nil
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		r.done.Schedules += n
		after = rows[len(rows)-1].Name
	}
}
