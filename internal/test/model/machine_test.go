package model

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/jobs"
)

// hang is the limit of a sequence of steps: nothing in it depends on how long anything takes.
const hang = 2 * time.Minute

func TestModel(t *testing.T) {
	together := false
	t.Run("EveryEngine", func(t *testing.T) {
		c := &clock{}
		engines := []*engine{openSQLite(t, c), openPostgres(t, c)} // the test is skipped without a server
		together = true
		checkModel(t, c, engines)
	})
	if !together {
		t.Run("SQLite", func(t *testing.T) {
			c := &clock{}
			checkModel(t, c, []*engine{openSQLite(t, c)})
		})
	}
}

// checkModel does random sequences of steps on some engines and on the model.
func checkModel(t *testing.T, c *clock, engines []*engine) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		m := &machine{ctx: ctx, engines: engines, clock: c, model: newQueue(start)}
		c.set(start)
		c.process.Store(0)
		if rapid.Bool().Draw(t, "encrypt from the beginning") {
			m.addKey()
		}
		for _, e := range engines {
			e.keys = m.keys
			if err := e.reset(ctx); err != nil {
				t.Fatalf("clear %s: %v", e.name, err)
			}
		}
		defer m.releaseLocks(t)
		t.Repeat(map[string]func(*rapid.T){"": m.check, "step": m.step})
		m.lookAnew()
		m.check(t)
	})
}

// start is far from any real clock's time, so that such a time shows. It lies in the future, because a server that has
// just started gives workers that began before it time to settle.
var start = time.Date(2101, 2, 3, 4, 5, 6, 789012000, time.UTC)

// machine does each step on the model and on the engines.
type machine struct {
	ctx     context.Context
	engines []*engine
	clock   *clock
	model   *queue
	pruner  *pruner // of all processes; nil until its first pass
	keys    keyring
	added   int // keys
	faults  []string
}

// check compares everything visible. It alone fails the test, so that a fault found in one step can be shrunk to one
// found in another. Its message is always the same, so that the difference may change on the way.
func (m *machine) check(t *rapid.T) {
	if len(m.faults) == 0 {
		m.compare()
	}
	if len(m.faults) > 0 {
		for _, fault := range m.faults {
			t.Log(fault)
		}
		t.Fatal("an engine and the model differ")
	}
}

// lookAnew makes the next look read everything.
func (m *machine) lookAnew() {
	for _, e := range m.engines {
		e.seen = view{}
	}
}

// compare compares all engines with the model.
func (m *machine) compare() {
	want := m.model.view()
	for _, e := range m.engines {
		m.compareWith(e, "the view", want)
	}
}

func (m *machine) compareWith(e *engine, what string, want view) {
	have, err := e.look(m.ctx)
	if err != nil {
		m.fault(e, what, err.Error())
		return
	}
	m.fault(e, what, differences(have, want)...)
}

func (m *machine) fault(e *engine, what string, differences ...string) {
	for _, d := range differences {
		m.faults = append(m.faults, fmt.Sprintf("%s: %s: %s", e.name, what, d))
	}
}

// each runs a function on every engine and compares the answer with the model's.
func each[T any](m *machine, what string, want T, wantErr error, do func(e *engine) (T, error)) {
	for _, e := range m.engines {
		have, err := do(e)
		switch {
		case !isError(err, wantErr):
			m.fault(e, what, fmt.Sprintf("the error is %v, not %v", err, wantErr))
		case err == nil:
			m.fault(e, what, differences(have, want)...)
		}
	}
}

func isError(have, want error) bool {
	if want == errInvalid {
		var invalid *jobs.InvalidError
		return errors.As(have, &invalid)
	}
	return errors.Is(have, want)
}

// releaseLocks releases the locks of the workers that the test played.
func (m *machine) releaseLocks(t *rapid.T) {
	for _, e := range m.engines {
		for id := range e.locks {
			if err := e.releaseLock(m.ctx, id, true); err != nil {
				t.Errorf("%s: release the lock of worker %d: %v", e.name, id, err)
			}
		}
	}
}
