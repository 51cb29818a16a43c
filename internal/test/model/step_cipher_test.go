package model

import (
	"context"
	"fmt"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// changeKey gives all programs a new key to encrypt with. They keep the others to decrypt with.
func (m *machine) changeKey(t *rapid.T) {
	m.addKey()
	m.useKeys()
	t.Logf("encrypt with the key %s", m.model.key)
}

// addKey adds a key before the others.
func (m *machine) addKey() {
	m.added++
	m.model.key = fmt.Sprint("key-", m.added)
	m.keys = newKeyring(append([]string{m.model.key}, m.keys.ids...)...)
}

// useKeys gives the programs of all engines the keys of the sequence.
func (m *machine) useKeys() {
	for _, e := range m.engines {
		e.keys = m.keys
		e.client = e.newClient(e.store)
	}
}

// rekey encrypts everything with the newest key, most often a new one, and takes the others away: a value that it missed cannot be
// decrypted any more.
func (m *machine) rekey(t *rapid.T) {
	if !seldom(t, "the key that there is", 3) {
		m.changeKey(t)
	}
	options := inspect.RekeyOptions{Plain: rapid.Bool().Draw(t, "also what is plain")}
	want := m.model.rekey(options.Plain)
	t.Logf("rekey with %+v: %+v", options, want)
	each(m, "rekey", want, nil, func(e *engine) (inspect.Rekeyed, error) { return inspect.New(e.client).Rekey(m.ctx, options) })
	m.keys = newKeyring(m.model.key)
	m.useKeys()
	m.lookAnew()
}

// forgetUser forgets a user, most often one who has jobs.
func (m *machine) forgetUser(t *rapid.T) {
	user := pick(t, "user", users)
	if theirs := m.model.having(func(j *job) bool { return j.UserID != "" }); len(theirs) > 0 && !seldom(t, "any user", 4) {
		user = m.model.job(pick(t, "job of the user", idsOf(theirs))).UserID
	}
	want := m.model.forgetUser(user)
	t.Logf("forget user %q: %+v", user, want)
	each(m, "forget a user", want, nil, func(e *engine) (inspect.Forgotten, error) { return inspect.New(e.client).Forget(m.ctx, user) })
	m.lookAnew()
}

// lookAtKeys reads which keys the stored values are encrypted with.
func (e *engine) lookAtKeys(ctx context.Context, v *view) error {
	v.Keys, v.ErrorKeys, v.ScheduleKeys = map[int64]valueKeys{}, map[int64][]textKeys{}, map[string]string{}
	const most = 1000 // rows: a sequence has fewer
	return port.ScopeOf(e.client).Read(ctx, func(ctx context.Context, q db.Querier) error {
		heads, err := q.ListValueHeads(ctx, db.ListValueHeadsParams{N: most})
		if err != nil {
			return err
		}
		for _, h := range heads {
			v.Keys[e.jobs.from(h.ID)] = valueKeys{cipher.KeyOf(h.Payload), cipher.KeyOf(h.Progress), cipher.KeyOf(h.Result), cipher.KeyOf(h.LastError)}
		}
		texts, err := q.ListErrorTexts(ctx, db.ListErrorTextsParams{N: most})
		if err != nil {
			return err
		}
		for _, row := range texts {
			id := e.jobs.from(row.JobID)
			v.ErrorKeys[id] = append(v.ErrorKeys[id], textKeys{cipher.KeyOf(row.Message), cipher.KeyOf(row.Stack)})
		}
		schedules, err := q.ListSchedules(ctx, db.ListSchedulesParams{N: most})
		for _, row := range schedules {
			v.ScheduleKeys[row.Name] = cipher.KeyOf(row.Payload)
		}
		return err
	})
}
