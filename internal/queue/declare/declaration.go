package declare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

// The subjects of declarations.
const (
	SubjectKind     = "kind"
	SubjectQueue    = "queue"
	SubjectSchedule = schedule.Subject
)

// Declaration is the settings of a kind, the limit of a queue, or a schedule, as a program declares them.
type Declaration struct {
	ID, Subject, Name string
	Body              string // a JSON object, without secrets

	schedule     db.PutScheduleParams // the row of a schedule
	hasRetention bool                 // the declaration is a kind's and says how long done jobs are kept
	keepFor      *int64               // the retention of done jobs in microseconds; nil keeps them for ever
	whole        *Limit               // the limit of the whole kind or queue; nil: it has none
}

// Settings holds the settings that a program declares for a kind. A zero field is not set, and not in the body.
type Settings struct {
	Version     int      `json:"version,omitempty"` // the version of the payload's form
	MaxAttempts int      `json:"max_attempts,omitempty"`
	Timeout     int64    `json:"timeout,omitempty"` // microseconds
	Queue       string   `json:"queue,omitempty"`
	Priority    int      `json:"priority,omitempty"`
	Keep        any      `json:"keep,omitempty"` // microseconds, KeepForever or KeepNothing
	Aliases     []string `json:"aliases,omitempty"`
	AliasOf     string   `json:"alias_of,omitempty"` // the kind's present name

	Limit *Limit `json:"limit,omitempty"` // of each key
	Total *Limit `json:"total,omitempty"` // of all jobs of the kind together
}

// The values of Settings.Keep other than a number.
const (
	KeepForever = "forever"
	KeepNothing = "nothing"
)

// Kind returns the declaration of a kind.
func Kind(name string, s Settings) (Declaration, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return Declaration{}, fmt.Errorf("encode the settings of a kind: %w", err)
	}
	d := of(SubjectKind, name, string(body), string(body))
	d.whole = s.Total
	switch keep := s.Keep.(type) {
	case int64:
		d.hasRetention, d.keepFor = true, &keep
	case string:
		d.hasRetention = keep == KeepForever
	}
	return d, nil
}

// Queue returns the declaration of a queue's limit; nil declares that it has none.
func Queue(name string, limit *Limit) (Declaration, error) {
	body, err := json.Marshal(QueueBody{Limit: limit})
	if err != nil {
		return Declaration{}, fmt.Errorf("encode the limit of a queue: %w", err)
	}
	d := of(SubjectQueue, name, string(body), string(body))
	d.whole = limit
	return d, nil
}

// ScheduleBody is the body of the declaration of a schedule, without its secrets.
type ScheduleBody struct {
	Kind    string `json:"kind"`
	Queue   string `json:"queue"`
	Spec    string `json:"spec"`
	Zone    string `json:"zone"`
	CatchUp string `json:"catch_up"`
	Overlap string `json:"overlap"`
}

// Schedule returns the declaration of a schedule's row. The id covers the payload and the options too.
func Schedule(row db.PutScheduleParams) (Declaration, error) {
	body, err := json.Marshal(ScheduleBody{row.Kind, row.Queue, row.Spec, row.Zone, row.CatchUp, row.Overlap})
	if err != nil {
		return Declaration{}, fmt.Errorf("encode a schedule: %w", err)
	}
	d := of(SubjectSchedule, row.Name, string(body), string(body)+"\x00"+row.Options+"\x00"+row.Payload)
	d.schedule = row
	return d, nil
}

// of returns a declaration. content has all that distinguishes it from other declarations of the name, without a NUL in any part.
func of(subject, name, body, content string) Declaration {
	sum := sha256.Sum256([]byte(subject + "\x00" + name + "\x00" + content))
	return Declaration{ID: hex.EncodeToString(sum[:16]), Subject: subject, Name: name, Body: body}
}

// limited returns the name of the limit of the whole kind or queue that the declaration has, or says is not there; ok is false for other subjects.
func (d *Declaration) limited() (n LimitName, ok bool) {
	switch d.Subject {
	case SubjectKind:
		return LimitName{core.ScopeTotal, d.Name}, true
	case SubjectQueue:
		return LimitName{core.ScopeQueue, d.Name}, true
	}
	return LimitName{}, false
}

// IDs returns the ids in their order, as the text that a worker's row holds: workers of one program have the same text.
func IDs(list []Declaration) string {
	return core.JSONNames(core.Map(sorted(list), func(d Declaration) string { return d.ID }))
}

// Register adds rows for the declarations of a worker that is about to register, where they are new.
func Register(ctx context.Context, q db.Querier, list []Declaration, now time.Time) error {
	if len(list) == 0 {
		return nil
	}
	items := core.Map(sorted(list), func(d Declaration) [4]string { return [4]string{d.ID, d.Subject, d.Name, d.Body} })
	text, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("encode declarations: %w", err)
	}
	return core.Wrap(q.Declare(ctx, db.DeclareParams{Items: string(text), Now: core.Micros(now)}), "record the declarations of the program")
}

// sorted returns the list in the order of the ids, in which rows are locked.
func sorted(list []Declaration) []Declaration {
	return slices.SortedFunc(slices.Values(list), func(a, b Declaration) int { return cmp.Compare(a.ID, b.ID) })
}
