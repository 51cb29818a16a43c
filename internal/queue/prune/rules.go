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

// The bounds of the time of a rule.
const (
	shortest = time.Second
	longest  = 100 * 365 * 24 * time.Hour
)

// CheckKeep returns an InvalidError for a time that no rule may have.
func CheckKeep(keep time.Duration) error {
	if keep == Forever || keep >= shortest && keep <= longest {
		return nil
	}
	return jobtype.NewInvalidError("keep", keep.String(), fmt.Sprintf("be from %s to %s, or Forever", shortest, longest))
}

// KeepColumn returns the value of a rule's column for a time: microseconds, nil for Forever.
func KeepColumn(keep time.Duration) *int64 {
	if keep == Forever {
		return nil
	}
	n := keep.Microseconds()
	return &n
}

// KeepOf returns the time of a rule's column: the inverse of KeepColumn.
func KeepOf(column *int64) time.Duration {
	if column == nil {
		return Forever
	}
	return time.Duration(*column) * time.Microsecond
}

// KeepText returns a time as people read it.
func KeepText(keep time.Duration) string {
	if keep == Forever {
		return "forever"
	}
	return keep.String()
}

// Declare writes how long a program keeps the done jobs of each of its kinds, unless the database has it already. It returns the former time
// of each rule that it changed: 0 where there was none. Rules for other kinds stay as they are.
func Declare(ctx context.Context, s *engine.Scope, keeps map[string]time.Duration) (changed map[string]time.Duration, err error) {
	var rules []db.Retention
	if err := s.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		rules, err = q.ListRetentions(ctx)
		return err
	}); err != nil {
		return nil, fmt.Errorf("list rules of retention: %w", err)
	}
	before := map[string]time.Duration{}
	for _, rule := range rules {
		if rule.Origin == OriginCode && rule.Queue == "" && rule.Status == string(jobtype.StatusDone) {
			before[rule.Kind] = KeepOf(rule.Keep)
		}
	}
	kinds := slices.Sorted(maps.Keys(keeps)) // programs that start together wait in one order
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return before[kind] == KeepOf(KeepColumn(keeps[kind])) })
	if len(kinds) == 0 {
		return nil, nil
	}
	changed = map[string]time.Duration{}
	err = lifecycle.Change(ctx, s, 0, func(ctx context.Context, q db.Querier) error {
		for _, kind := range kinds {
			if err := q.DeclareRetention(ctx, db.DeclareRetentionParams{Kind: kind, Keep: KeepColumn(keeps[kind]), Now: core.Micros(s.Now())}); err != nil {
				return fmt.Errorf("kind %s: %w", strconv.Quote(kind), err)
			}
			changed[kind] = before[kind]
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("put rules of retention: %w", err)
	}
	return changed, nil
}
