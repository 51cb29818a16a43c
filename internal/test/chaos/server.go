//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// bench replaces a test for the temporary PostgreSQL servers of package testdb.
type bench struct {
	testing.TB // methods that are not overridden are not used
	ctx        context.Context
	cleanups   []func()
	failures   []error
}

// failed and skipped end the use of a bench.
type (
	failed  struct{ err error }
	skipped struct{ why string }
)

func (b *bench) Helper()                  {}
func (b *bench) Context() context.Context { return b.ctx }
func (b *bench) Cleanup(fn func())        { b.cleanups = append(b.cleanups, fn) }
func (b *bench) Fatal(args ...any)        { panic(failed{errors.New(fmt.Sprint(args...))}) }
func (b *bench) Fatalf(format string, args ...any) {
	panic(failed{fmt.Errorf(format, args...)})
}
func (b *bench) Errorf(format string, args ...any) {
	b.failures = append(b.failures, fmt.Errorf(format, args...))
}
func (b *bench) Skipf(format string, args ...any) { panic(skipped{fmt.Sprintf(format, args...)}) }
func (b *bench) Setenv(key, value string) {
	panic(failed{fmt.Errorf("no place for %s=%s", key, value)})
}
func (b *bench) TempDir() string {
	dir, err := os.MkdirTemp("", "sqluice-chaos-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			b.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}

// onServer runs fn with a PostgreSQL server that keeps acknowledged data, as one outside of tests does. The server ends
// with it.
func onServer(ctx context.Context, fn func(b *bench, server *testdb.Cluster) error) error {
	return onBench(ctx, func(b *bench) error { return fn(b, testdb.StartCluster(b, lasting())) })
}

// lasting returns the settings of such a server.
func lasting() map[string]string {
	return map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "max_connections": "500"}
}

// onBench runs fn with a bench, and then ends the bench's resources.
func onBench(ctx context.Context, fn func(*bench) error) (err error) {
	b := &bench{ctx: ctx}
	defer func() {
		for _, cleanup := range slices.Backward(b.cleanups) {
			func() {
				defer b.caught(&err)
				cleanup()
			}()
		}
		err = errors.Join(append(b.failures, err)...)
	}()
	defer b.caught(&err)
	return fn(b)
}

// caught turns the end of a bench's use into an error.
func (b *bench) caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case failed:
		*err = errors.Join(*err, p.err)
	case skipped:
		*err = errors.Join(*err, fmt.Errorf("%w: %s", errNotHere, p.why))
	default:
		panic(p)
	}
}
