//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	_ "time/tzdata" // for machines without it

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// A process whose clock may be set receives signals to set it forward or back by an hour. It reports each change, and
// when it is ready for them.
const (
	setForward = syscall.SIGUSR1
	setBack    = syscall.SIGUSR2
	saysSet    = -1
)

// openWithClock opens the database of a lane with a clock that starts at an offset, if there is one, and can be set.
func (r role) openWithClock(ctx context.Context, observer *jobs.Observer) (jobs.Store, error) {
	if !r.Settable {
		return openStore(ctx, r.DB, observer)
	}
	if r.Zone != "" {
		zone, err := time.LoadLocation(r.Zone)
		if err != nil {
			return nil, err
		}
		time.Local = zone
	}
	var offset atomic.Int64
	offset.Store(int64(r.Offset))
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, setForward, setBack)
	fmt.Println(saysSet)
	go func() {
		for s := range signals {
			by := time.Hour
			if s == setBack {
				by = -by
			}
			offset.Add(int64(by))
			fmt.Println(saysSet) // the reader has gone when this fails
		}
	}()
	if strings.HasPrefix(r.DB, "postgres://") {
		return openPostgres(ctx, r.DB, postgres.WithClock(now), postgres.WithObserver(observer))
	}
	return sqlite.Open(ctx, r.DB, sqlite.MustExist(), sqlite.WithClock(now), sqlite.WithObserver(observer))
}
