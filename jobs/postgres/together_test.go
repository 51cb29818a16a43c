package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

var togetherTests = []engineTest{
	{"Results", testTogetherResults},
	{"Fault", testTogetherFault},
	{"ListsBesideEnds", testListsBesideEnds},
}

// closing returns the call that closes a key of a kind.
func closing(kind string) db.Call {
	return db.CloseLimitKeyCall{Arg: db.CloseLimitKeyParams{Kind: kind, LimitKey: "key", Until: time.Now().UnixMicro()}}
}

// Calls that run together have the results that they have one by one, whether the connection has prepared them or prepares none, and are
// reported one by one.
func testTogetherResults(t *testing.T, site *site) {
	for _, prepares := range []bool{true, false} {
		store, _, _ := site.queue(t)
		store.conns.unprepared.Store(!prepares)
		for run := range 3 { // the first one prepares
			var locked []db.LockWholeLimitsRow
			var room int64 = -1
			var ran []string
			err := store.writer.write(t.Context(), 1, store.writer.transact, func(ctx context.Context, _ *transaction, q db.Querier) error {
				locked, ran = nil, nil
				q = db.Timed(q, func(name string, _ time.Duration, err error) { ran = append(ran, fmt.Sprint(name, " ", err)) })
				if err := db.Together(ctx, q); err != nil {
					return err
				}
				if err := q.SetLimit(ctx, db.SetLimitParams{Scope: "total", Name: "k", Running: int64(1 + run), Now: time.Now().UnixMicro()}); err != nil {
					return err
				}
				return db.Together(ctx, q,
					db.LockWholeLimitsCall{Arg: db.LockWholeLimitsParams{Queues: "[]", Kinds: `["k"]`}, Into: &locked},
					closing("k"),
					db.CountRoomCall{Arg: db.CountRoomParams{Kinds: `["k"]`, Queues: "[]", Keys: "{}"}, Into: &room},
				)
			})
			must(t, err)
			want(t, "locked limits", fmt.Sprint(locked), "[{total k}]")
			want(t, "limits with room", room, 1)
			want(t, "statements", strings.Join(ran, ", "), "SetLimit <nil>, LockWholeLimits <nil>, CloseLimitKey <nil>, CountRoom <nil>")
		}
	}
}

// The error of a call is that of all of them, and its transaction is undone.
func testTogetherFault(t *testing.T, site *site) {
	store, _, _ := site.queue(t)
	var keys int64
	for range 2 {
		var room int64 = -1
		err := store.writer.write(t.Context(), 1, store.writer.transact, func(ctx context.Context, _ *transaction, q db.Querier) error {
			return db.Together(ctx, q, closing("k"), closing(strings.Repeat("k", 10_000)),
				db.CountRoomCall{Arg: db.CountRoomParams{Kinds: "[]", Queues: "[]", Keys: "{}"}, Into: &room})
		})
		if err == nil || !store.RefusesRow(err) {
			t.Errorf("the error of a refused call: %v", err)
		}
		want(t, "the result of a later call", room, -1)
		must(t, store.writer.write(t.Context(), 1, store.writer.transact, func(ctx context.Context, _ *transaction, q db.Querier) (err error) {
			keys, err = q.DeleteIdleLimitKeys(ctx, db.DeleteIdleLimitKeysParams{Now: time.Now().Add(time.Hour).UnixMicro(), N: 10})
			return err
		}))
		want(t, "keys", keys, 0)
		must(t, store.writer.write(t.Context(), 1, store.writer.transact, func(ctx context.Context, _ *transaction, q db.Querier) error {
			return db.Together(ctx, q) // nothing, in a transaction that does not begin
		}))
	}
}

// A long list locks the lanes of its keys, and so does a cycle, for ends before promoted jobs. Neither waits for the other in a circle.
func testListsBesideEnds(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	kind := jobs.Kind[string]{Name: "k", Limit: jobs.Limit[string]{Running: 1, Key: func(key string) string { return key }}}
	list := slices.Repeat([]string{"a", "z"}, 60)
	now := time.Now().UnixMicro()
	write := func(fn func(ctx context.Context, q db.Querier) error) {
		t.Helper()
		must(t, store.writer.write(t.Context(), 1, store.writer.transact, func(ctx context.Context, _ *transaction, q db.Querier) error { return fn(ctx, q) }))
	}
	_, err := kind.EnqueueMany(t.Context(), client, list)
	must(t, err)
	write(func(ctx context.Context, q db.Querier) error {
		if err := q.AddLimitKeys(ctx, `{"k": ["a", "z"]}`); err != nil {
			return err
		}
		_, err := q.SetLanes(ctx, db.SetLanesParams{Queue: jobs.DefaultQueue, Items: `[["k", "z", null, 0]]`})
		return err
	})
	watcher, added := dial(t, url), make(chan error, 1)
	var once sync.Once
	write(func(ctx context.Context, q db.Querier) error {
		if _, err := q.HoldLimitKeys(ctx, `{"k": ["a", "z"]}`); err != nil {
			return err
		}
		if _, err := q.WakeLanes(ctx, db.WakeLanesParams{Now: now, Keys: `{"k": ["z"]}`}); err != nil {
			return err
		}
		once.Do(func() {
			go func() {
				_, err := kind.EnqueueMany(t.Context(), client, list)
				added <- err
			}()
		})
		eventually(t, "the list waits", func() bool { return scan[int](t, watcher, "count_waiting") == 1 })
		return q.OpenLanes(ctx, db.OpenLanesParams{Now: now, Items: `[["k", "a", "default", 0]]`})
	})
	must(t, receive(t, "the list's end", added))
	want(t, "deadlocks", scan[int](t, watcher, "count_deadlocks"), 0)
}
