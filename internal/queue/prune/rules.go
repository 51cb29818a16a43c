package prune

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// OriginCode is the origin of the rules that come from programs.
const OriginCode = "code"

// longest is the longest time that a rule may say.
const longest = 100 * 365 * 24 * time.Hour

// CheckKeep returns an InvalidError for what no rule may say.
func CheckKeep(keep time.Duration) error {
	if keep == Forever || keep >= time.Microsecond && keep <= longest {
		return nil
	}
	return jobtype.NewInvalidError("keep", keep.String(), fmt.Sprintf("be positive and at most %s, or Forever", longest))
}

// KeepColumn is how a rule holds a time.
func KeepColumn(keep time.Duration) *int64 {
	if keep == Forever {
		return nil
	}
	n := keep.Microseconds()
	return &n
}

// KeepOf returns what a rule says.
func KeepOf(column *int64) time.Duration {
	if column == nil {
		return Forever
	}
	return time.Duration(*column) * time.Microsecond
}

// Declare has the database say for each of a program's kinds how long its done jobs are kept, and takes back what another version of the
// program said of those with 0. When all is said already, it writes nothing.
func Declare(ctx context.Context, s *engine.Scope, keeps map[string]time.Duration) error {
	var rules []db.Retention
	if err := s.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		rules, err = q.ListRetentions(ctx)
		return err
	}); err != nil {
		return fmt.Errorf("list how long jobs are kept: %w", err)
	}
	said := map[string]time.Duration{}
	for _, rule := range rules {
		if rule.Origin == OriginCode && rule.Queue == "" && rule.Status == string(jobtype.StatusDone) {
			said[rule.Kind] = KeepOf(rule.Keep)
		}
	}
	kinds := slices.Sorted(maps.Keys(keeps)) // programs that start together wait in one order
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return said[kind] == keeps[kind] })
	if len(kinds) == 0 {
		return nil
	}
	err := lifecycle.Change(ctx, s, 0, func(ctx context.Context, q db.Querier) error {
		for _, kind := range kinds {
			if err := declare(ctx, q, core.Micros(s.Now()), kind, keeps[kind]); err != nil {
				return fmt.Errorf("kind %s: %w", strconv.Quote(kind), err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("say how long jobs are kept: %w", err)
	}
	return nil
}

func declare(ctx context.Context, q db.Querier, now int64, kind string, keep time.Duration) error {
	if keep == 0 {
		return q.WithdrawRetention(ctx, kind)
	}
	return q.DeclareRetention(ctx, db.DeclareRetentionParams{Kind: kind, Keep: KeepColumn(keep), Now: now})
}
