package testdb

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// Shared is a PostgreSQL server that the tests of a package share, because the start of one costs as much as many tests. Its zero value is
// ready. A test that stops its server, or looks at more than its own databases, has [StartPostgres].
type Shared struct {
	mu       sync.Mutex
	server   *Postgres // nil before the first use
	cleanups []func()
	failed   bool
}

// Postgres returns the server, which starts with the first call.
func (s *Shared) Postgres(tb testing.TB) *Postgres {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		s.server = StartPostgres(outliving{tb, s})
	}
	return s.server
}

// Run runs a package's tests, stops the server, and returns the code for [os.Exit].
func (s *Shared) Run(m *testing.M) (code int) {
	code = m.Run()
	for _, cleanup := range slices.Backward(s.cleanups) {
		cleanup()
	}
	if s.failed && code == 0 {
		code = 1
	}
	return code
}

// outliving is a test whose server remains when it ends. It prints later messages itself.
type outliving struct {
	testing.TB
	shared *Shared
}

func (o outliving) Cleanup(cleanup func())   { o.shared.cleanups = append(o.shared.cleanups, cleanup) }
func (o outliving) Context() context.Context { return context.WithoutCancel(o.TB.Context()) }

func (o outliving) Error(values ...any) { o.fail(fmt.Sprint(values...)) }
func (o outliving) Fatal(values ...any) { o.fail(fmt.Sprint(values...)); o.FailNow() }

func (o outliving) Errorf(format string, values ...any) { o.fail(fmt.Sprintf(format, values...)) }
func (o outliving) Fatalf(format string, values ...any) {
	o.fail(fmt.Sprintf(format, values...))
	o.FailNow()
}

func (o outliving) fail(text string) {
	o.shared.failed = true
	fmt.Fprintln(os.Stderr, text)
}
