package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// UnknownName is the name of a kind or a queue that is nowhere in the database: see [Inspector.UnknownNames].
type UnknownName struct {
	Field   string `json:"field"` // kind or queue
	Name    string `json:"name"`
	Nearest string `json:"nearest,omitempty"` // the most similar known name, if there is one
}

// String returns the unknown name with the similar name.
func (u UnknownName) String() string {
	text := fmt.Sprintf("nothing knows the %s %s: no job, worker, schedule, pause or rule has this name", u.Field, strconv.Quote(u.Name))
	if u.Nearest != "" {
		text += "; did you mean " + strconv.Quote(u.Nearest) + "?"
	}
	return text
}

// UnknownNames returns those of the given names of kinds and queues that are most likely misspelt: no job, worker, schedule, pause,
// retention rule and mark of a sensitive field has them. A worker counts while its row is kept, for a week after its end. It omits names
// that [jobs.ValidateName] refuses; the queue [jobs.DefaultQueue] is known. So is every kind, or queue, while the database has no name of
// one.
func (in *Inspector) UnknownNames(ctx context.Context, kinds, queues []string) ([]UnknownName, error) {
	known := knownNames{kinds: map[string]bool{}, queues: map[string]bool{jobs.DefaultQueue: true}}
	err := in.scope.Read(ctx, func(ctx context.Context, q db.Querier) error {
		for _, read := range []func(context.Context, db.Querier) error{known.readWorkers, known.readRules, known.readSchedules, known.readJobs(in)} {
			if known.all(kinds, queues) {
				return nil
			}
			if err := read(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for unknown names: %w", err)
	}
	return append(unknown("kind", kinds, known.kinds, 0), unknown("queue", queues, known.queues, 1)...), nil
}

// knownNames holds the names in a database.
type knownNames struct{ kinds, queues map[string]bool }

// all reports whether all of the names are known.
func (k knownNames) all(kinds, queues []string) bool {
	return len(missing(kinds, k.kinds)) == 0 && len(missing(queues, k.queues)) == 0
}

// add adds a kind and a queue, of which either may be empty.
func (k knownNames) add(kind, queue string) {
	if kind != "" {
		k.kinds[kind] = true
	}
	if queue != "" {
		k.queues[queue] = true
	}
}

// readWorkers adds the kinds and queues of workers, ended ones too.
func (k knownNames) readWorkers(ctx context.Context, q db.Querier) error {
	for after := int64(0); ; {
		rows, err := q.ListWorkersFrom(ctx, db.ListWorkersFromParams{AfterID: after, N: MaxPage})
		if err != nil {
			return err
		}
		for _, w := range rows {
			after = w.ID
			for _, kind := range engine.Kinds(w) {
				k.add(kind, "")
			}
			for queue := range engine.Slots(w) {
				k.add("", queue)
			}
		}
		if len(rows) < MaxPage {
			return nil
		}
	}
}

// readRules adds the names in pauses, rules of retention and marks of sensitive fields.
func (k knownNames) readRules(ctx context.Context, q db.Querier) error {
	pauses, err := q.ListPauses(ctx)
	if err != nil {
		return err
	}
	for _, p := range pauses {
		k.add(p.Kind, p.Queue)
	}
	retentions, err := q.ListRetentions(ctx)
	if err != nil {
		return err
	}
	for _, r := range retentions {
		k.add(r.Kind, r.Queue)
	}
	marks, err := q.ListAllSensitiveFields(ctx)
	for _, m := range marks {
		k.add(m.Kind, "")
	}
	return err
}

// readSchedules adds the names in schedules.
func (k knownNames) readSchedules(ctx context.Context, q db.Querier) error {
	for after := ""; ; {
		rows, err := q.ListSchedules(ctx, db.ListSchedulesParams{AfterName: after, N: MaxPage})
		if err != nil {
			return err
		}
		for _, s := range rows {
			after = s.Name
			k.add(s.Kind, s.Queue)
		}
		if len(rows) < MaxPage {
			return nil
		}
	}
}

// readJobs adds the names of jobs. It comes last, as it takes longest.
func (k knownNames) readJobs(in *Inspector) func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		counts, _, err := countJobs(ctx, q, in.scope.Now())
		for _, c := range counts {
			k.add(c.Kind, c.Queue)
		}
		return err
	}
}

// missing returns the names that are not known, each once, without names that no job can have.
func missing(names []string, known map[string]bool) (list []string) {
	for _, name := range names {
		if core.ValidateName("name", name) == nil && !known[name] && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// unknown returns the names that are not known. It returns none while the database has no names besides the always known ones.
func unknown(field string, names []string, known map[string]bool, always int) (list []UnknownName) {
	if len(known) <= always {
		return nil
	}
	for _, name := range missing(names, known) {
		list = append(list, UnknownName{field, name, nearest(name, known)})
	}
	return list
}

// nearest returns the known name that takes the fewest edits, the first by name of several; "" if a third of the name would change.
func nearest(name string, known map[string]bool) (found string) {
	length := utf8.RuneCountInString(name)
	fewest := min(length, max(1, length/3)+1) // a name of one rune is not like another one
	for _, other := range slices.Sorted(maps.Keys(known)) {
		if n := edits(strings.ToLower(name), strings.ToLower(other)); n < fewest {
			found, fewest = other, n
		}
	}
	return found
}

// edits returns the number of runes to add, remove, replace, or swap with their neighbour to turn one text into another.
func edits(from, to string) int {
	a, b := []rune(from), []rune(to)
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
