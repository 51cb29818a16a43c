package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// RekeyOptions selects what [Inspector.Rekey] changes. The zero value suits a change of the key.
type RekeyOptions struct {
	Plain bool // also encrypt plain values
}

// Rekeyed is the result of [Inspector.Rekey].
type Rekeyed struct {
	Jobs      int64 `json:"jobs"`      // jobs with values encrypted with the first key
	Errors    int64 `json:"errors"`    // errors of attempts
	Schedules int64 `json:"schedules"` // schedules with a newly encrypted payload

	// Unreadable is the number of values that are encrypted with keys that the client does not have, and Keys the ids of these keys. They
	// are unchanged.
	Unreadable int64            `json:"unreadable"`
	Keys       map[string]int64 `json:"keys,omitempty"`

	// Damaged is the number of values that name a key of the client that does not decrypt them: another key had its id, or they were
	// changed. They are unchanged; DamagedAt lists the first hundred. Rekey tests one value of each kind that has the first key.
	Damaged   int64    `json:"damaged"`
	DamagedAt []string `json:"damaged_at,omitempty"` // such as "job 42: payload"
}

// maxDamagedAt is the largest number of places in Rekeyed.DamagedAt.
const maxDamagedAt = 100

// Rekey encrypts with the first key of the client's cipher what is encrypted with another one: the payloads of schedules, and payloads,
// results, progress, errors and stacks of jobs. Programs may keep running meanwhile, if all have both keys. It reads all jobs, changes them
// in transactions of a few hundred, and can be repeated: an error half-way leaves some of them changed. The audit log records each
// transaction, if the context has an actor. The error is a [jobs.RefusedError] when the database refused to change some jobs, or other
// transactions had locked them: all others are changed. It is a [jobs.InvalidError] when the client has no cipher. The runners that declare
// a schedule in code encrypt its payload.
func (in *Inspector) Rekey(ctx context.Context, o RekeyOptions) (Rekeyed, error) {
	r := rekey{in: in, options: o, done: Rekeyed{Keys: map[string]int64{}}, tried: map[string]bool{}}
	var err error
	if r.author, err = audit.Of(ctx); err == nil && in.scope.Cipher == nil {
		err = jobtype.NewInvalidError("cipher", "none", "be given to the client: see WithCipher")
	}
	// Schedules come first: they pass their payloads on to new jobs.
	for _, part := range []func(context.Context) error{r.schedules, r.jobs, r.errors, in.confirm} {
		if err == nil {
			err = part(ctx)
		}
	}
	if err == nil && r.refused.N > 0 {
		err = &r.refused
	}
	return r.done, core.Wrap(err, "encrypt with another key")
}

// rekey is one call of Rekey.
type rekey struct {
	in      *Inspector
	options RekeyOptions
	author  *audit.Author
	done    Rekeyed
	refused jobs.RefusedError
	tried   map[string]bool // kinds of which a value with the first key was decrypted
}

// unreadable holds the values that could not be decrypted.
type unreadable struct {
	at      string   // the place of the current value, such as "job 42"
	keys    []string // ids of keys that the client does not have, one for each value
	damaged []string // places of other values
}

// add adds the values of other.
func (u *unreadable) add(other unreadable) {
	u.keys, u.damaged = append(u.keys, other.keys...), append(u.damaged, other.damaged...)
}

// addUnreadable adds the findings of one committed transaction.
func (r *rekey) addUnreadable(found unreadable) {
	r.done.Unreadable += int64(len(found.keys))
	for _, id := range found.keys {
		r.done.Keys[id]++
	}
	r.done.Damaged += int64(len(found.damaged))
	r.done.DamagedAt = append(r.done.DamagedAt, found.damaged[:min(len(found.damaged), maxDamagedAt-len(r.done.DamagedAt))]...)
}

// cannotRead records a value that could not be decrypted.
func (r *rekey) cannotRead(found *unreadable, column cipher.Column, stored string) {
	if id := cipher.KeyOf(stored); !r.in.scope.Cipher.Has(id) {
		found.keys = append(found.keys, id)
		return
	}
	found.damaged = append(found.damaged, found.at+": "+string(column))
}

// write runs fn in a transaction; if fn returns n > 0, the audit log records it with the ids and a detail.
func (r *rekey) write(ctx context.Context, detail map[string]any, fn func(context.Context, db.Querier) (ids []int64, n int64, err error)) error {
	return lifecycle.Change(ctx, r.in.scope, 0, func(ctx context.Context, q db.Querier) error {
		ids, n, err := fn(ctx, q)
		if err != nil || n == 0 {
			return err
		}
		var text json.RawMessage
		if detail != nil {
			if text, err = r.author.Detail(detail); err != nil {
				return err
			}
		}
		now, entry := core.Micros(r.in.scope.Now()), audit.Entry{Action: jobtype.ActionRekey, JobIDs: ids, Detail: text}
		if ids == nil {
			return r.author.Record(ctx, q, now, entry)
		}
		return r.author.RecordMany(ctx, q, now, entry)
	})
}

// mustEncrypt reports whether a stored value, or the value of which stored is the beginning, must be encrypted with the first key.
func (r *rekey) mustEncrypt(stored string) bool {
	if cipher.Encrypted(stored) {
		return !r.in.scope.Cipher.Current(stored)
	}
	return r.options.Plain && stored != "" && stored != jobtype.Forgotten && stored != jobtype.ForgottenJSON
}

// value returns the value to store from now on, and whether it differs. make computes it from the decrypted value.
func (r *rekey) value(kind string, column cipher.Column, stored string, found *unreadable, make func(text string) (string, error)) (string, bool, error) {
	if !r.mustEncrypt(stored) {
		return stored, false, nil
	}
	text, err := r.in.scope.Cipher.Open(kind, column, stored)
	if err != nil {
		r.cannotRead(found, column, stored)
		return stored, false, nil // it stays unchanged
	}
	text, err = make(text)
	return text, true, err
}

func (r *rekey) json(kind string, column cipher.Column, stored string, found *unreadable) (string, bool, error) {
	return r.value(kind, column, stored, found, func(text string) (string, error) { return r.in.scope.Cipher.JSON(kind, column, []byte(text)) })
}

func (r *rekey) text(kind string, column cipher.Column, stored string, found *unreadable) (string, bool, error) {
	return r.value(kind, column, stored, found, func(text string) (string, error) { return r.in.scope.Cipher.Text(kind, column, text) })
}

// jobs processes all jobs.
func (r *rekey) jobs(ctx context.Context) error {
	for after := int64(0); ; {
		heads, err := core.Value(ctx, r.in.scope.Read, func(ctx context.Context, q db.Querier) ([]db.ListValueHeadsRow, error) {
			return q.ListValueHeads(ctx, db.ListValueHeadsParams{AfterID: after, N: MaxPage})
		})
		if err != nil || len(heads) == 0 {
			return err
		}
		after = heads[len(heads)-1].ID
		wanted := slices.DeleteFunc(heads, func(h db.ListValueHeadsRow) bool { return !r.wantsAny(h) })
		for part := range portions(wanted, func(h db.ListValueHeadsRow) int64 { return h.Bytes }) {
			ids := core.Map(part, func(h db.ListValueHeadsRow) int64 { return h.ID })
			if err := changeInParts(ctx, r.in.scope, ids, &r.refused, r.jobsTogether); err != nil {
				return err
			}
		}
	}
}

// wantsAny reports whether a value of a job must be encrypted with the first key, or whether to test one of its kind.
func (r *rekey) wantsAny(h db.ListValueHeadsRow) bool {
	for _, stored := range []string{h.Payload, h.Progress, h.Result, h.LastError} {
		if r.mustEncrypt(stored) {
			return true
		}
	}
	return r.in.scope.Cipher.Current(h.Payload) && !r.tried[h.Kind]
}

// jobsTogether changes jobs in one transaction. It reads again jobs that change meanwhile.
func (r *rekey) jobsTogether(ctx context.Context, ids []int64) error {
	var sum unreadable // noted at the end: after an error, jobs are processed again in parts
	for len(ids) > 0 {
		var changed, again []int64
		var found unreadable
		err := r.write(ctx, nil, func(ctx context.Context, q db.Querier) ([]int64, int64, error) {
			changed, again, found = nil, nil, unreadable{}
			rows, err := q.ListJobs(ctx, core.JSONIDs(ids))
			if err != nil {
				return nil, 0, err
			}
			slices.Reverse(rows) // in ascending order, as in all changes of many jobs
			for _, row := range rows {
				mine := unreadable{at: fmt.Sprint("job ", row.ID)}
				n, changes, err := r.job(ctx, q, row, &mine)
				switch {
				case err != nil:
					return nil, 0, err
				case changes && n == 0:
					again = append(again, row.ID)
					continue
				case changes:
					changed = append(changed, row.ID)
				}
				found.add(mine)
			}
			return changed, int64(len(changed)), nil
		})
		if err != nil {
			return err
		}
		r.done.Jobs += int64(len(changed))
		sum.add(found)
		ids = again
	}
	r.addUnreadable(sum)
	return nil
}

// job changes one job, if anything changes; n is 0 when the job has changed meanwhile.
func (r *rekey) job(ctx context.Context, q db.Querier, row db.Job, found *unreadable) (n int64, changes bool, err error) {
	r.tryKey(row, found)
	p, changes, err := r.params(row, found)
	if err == nil && changes {
		n, err = q.RekeyJob(ctx, p)
	}
	return n, changes, err
}

// tryKey decrypts a payload of the first key, once for each kind: another secret may have its id.
func (r *rekey) tryKey(row db.Job, found *unreadable) {
	if !r.in.scope.Cipher.Current(row.Payload) || r.tried[row.Kind] {
		return
	}
	if _, err := r.in.scope.Cipher.Open(row.Kind, cipher.Payload, row.Payload); err != nil {
		r.cannotRead(found, cipher.Payload, row.Payload)
		return
	}
	r.tried[row.Kind] = true
}

// params returns the parameters of the statement for a job, and whether anything changes.
func (r *rekey) params(row db.Job, found *unreadable) (p db.RekeyJobParams, changes bool, err error) {
	p = db.RekeyJobParams{
		ID: row.ID, Progress: row.Progress, NewResult: row.Result, LastError: row.LastError,
		OldPayload: row.Payload, OldProgress: core.Deref(row.Progress), OldResult: core.Deref(row.Result), OldLastError: core.Deref(row.LastError),
	}
	if p.Payload, changes, err = r.json(row.Kind, cipher.Payload, row.Payload, found); err != nil {
		return p, false, err
	}
	for _, v := range []struct {
		column cipher.Column
		stored **string
		make   func(string, cipher.Column, string, *unreadable) (string, bool, error)
	}{{cipher.Progress, &p.Progress, r.json}, {cipher.Result, &p.NewResult, r.json}, {cipher.Error, &p.LastError, r.text}} {
		if *v.stored == nil {
			continue
		}
		text, other, err := v.make(row.Kind, v.column, **v.stored, found)
		if err != nil {
			return p, false, err
		}
		if other {
			*v.stored, changes = &text, true
		}
	}
	return p, changes, nil
}

// errors processes the texts of attempts.
func (r *rekey) errors(ctx context.Context) error {
	const page = 200
	for after := int64(0); ; {
		rows, err := core.Value(ctx, r.in.scope.Read, func(ctx context.Context, q db.Querier) ([]db.ListErrorTextsRow, error) {
			return q.ListErrorTexts(ctx, db.ListErrorTextsParams{AfterID: after, N: page})
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1].ID
		wanted := map[int64][]db.ListErrorTextsRow{} // by job
		for _, row := range rows {
			if r.mustEncrypt(row.Message) || r.mustEncrypt(row.Stack) {
				wanted[row.JobID] = append(wanted[row.JobID], row)
			}
		}
		err = changeInParts(ctx, r.in.scope, slices.Sorted(maps.Keys(wanted)), &r.refused, func(ctx context.Context, part []int64) error { return r.errorsTogether(ctx, part, wanted) })
		if err != nil {
			return err
		}
	}
}

// errorsTogether changes the texts of attempts of jobs in one transaction. Only erasing also changes them.
func (r *rekey) errorsTogether(ctx context.Context, ids []int64, rows map[int64][]db.ListErrorTextsRow) error {
	var n int64
	var found unreadable
	detail := map[string]any{}
	err := r.write(ctx, detail, func(ctx context.Context, q db.Querier) ([]int64, int64, error) {
		n, found = 0, unreadable{}
		for _, id := range ids {
			for _, row := range rows[id] {
				found.at = fmt.Sprintf("job %d, error %d", row.JobID, row.ID)
				changes, err := r.attempt(ctx, q, row, &found)
				if err != nil {
					return nil, 0, err
				}
				if changes {
					n++
				}
			}
		}
		detail["errors"] = n
		return nil, n, nil
	})
	if err == nil {
		r.done.Errors += n
		r.addUnreadable(found)
	}
	return err
}

// attempt changes the texts of an attempt, and reports whether they change.
func (r *rekey) attempt(ctx context.Context, q db.Querier, row db.ListErrorTextsRow, found *unreadable) (bool, error) {
	message, first, err := r.text(row.Kind, cipher.Error, row.Message, found)
	if err != nil {
		return false, err
	}
	stack, second, err := r.text(row.Kind, cipher.Stack, row.Stack, found)
	if err != nil || !first && !second {
		return false, err
	}
	return true, q.RekeyJobError(ctx, db.RekeyJobErrorParams{ID: row.ID, Message: message, Stack: stack, OldMessage: row.Message, OldStack: row.Stack})
}

// schedules processes the schedules, each in a transaction.
func (r *rekey) schedules(ctx context.Context) error {
	return r.in.eachSchedule(ctx, func(row db.Schedule) error { return r.schedule(ctx, row) })
}

func (r *rekey) schedule(ctx context.Context, row db.Schedule) error {
	found := unreadable{at: "schedule " + strconv.Quote(row.Name)}
	payload, changes, err := r.value(row.Kind, cipher.Payload, row.Payload, &found, func(text string) (string, error) {
		return r.in.scope.Cipher.Schedule(row.Kind, []byte(text))
	})
	if r.addUnreadable(found); err != nil || !changes {
		return err
	}
	var n int64
	err = r.write(ctx, map[string]any{"schedule": row.Name}, func(ctx context.Context, q db.Querier) (_ []int64, _ int64, err error) {
		n, err = q.RekeySchedule(ctx, db.RekeyScheduleParams{Name: row.Name, Payload: payload, OldPayload: row.Payload})
		return nil, n, err
	})
	if err == nil {
		r.done.Schedules += n
	}
	return err
}
