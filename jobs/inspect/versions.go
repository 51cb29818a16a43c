package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/jobs"
)

// UnknownVersion is the newest version of a kind's payloads that a program has declared, if no live worker takes it. Jobs of that version,
// if there are any, wait.
type UnknownVersion struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	Newest  int    `json:"newest"` // taken by live workers
}

// Takes reports whether the worker runs jobs of a kind with a payload version. A program that declares no version of the kind takes all of
// them, as `sqluice work` does.
func (w WorkerInfo) Takes(kind string, version int) bool {
	newest, declared := w.Versions[kind]
	return slices.Contains(w.Kinds, kind) && (!declared || newest == jobs.AnyVersion || version <= newest)
}

// liveVersions returns the versions of payloads that live workers declare, by worker and kind.
func liveVersions(ctx context.Context, q db.Querier, now time.Time) (map[int64]map[string]int, error) {
	rows, err := q.ListLiveDeclarations(ctx, db.ListLiveDeclarationsParams{Now: core.Micros(now), Subject: declare.SubjectKind})
	if err != nil {
		return nil, fmt.Errorf("list the kinds that workers declare: %w", err)
	}
	versions := map[int64]map[string]int{}
	for _, r := range rows {
		if versions[r.WorkerID] == nil {
			versions[r.WorkerID] = map[string]int{}
		}
		versions[r.WorkerID][r.Name] = versionOf(r.Body)
	}
	return versions, nil
}

// versionOf returns the version in the body of a kind's declaration: 0 without one.
func versionOf(body string) int {
	var settings struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal([]byte(body), &settings); err != nil {
		return 0 // another program wrote it
	}
	return settings.Version
}

// unknownVersions returns the newest versions that programs have declared and that no live worker takes, of kinds that one takes.
func unknownVersions(ctx context.Context, q db.Querier, workers []WorkerInfo) ([]UnknownVersion, error) {
	if len(workers) == 0 {
		return nil, nil
	}
	rows, err := q.ListDeclarations(ctx)
	if err != nil {
		return nil, fmt.Errorf("list declarations: %w", err)
	}
	newest := map[string]int{}
	for _, r := range rows {
		if r.Subject == declare.SubjectKind {
			newest[r.Name] = max(newest[r.Name], versionOf(r.Body))
		}
	}
	var unknown []UnknownVersion
	for _, kind := range slices.Sorted(maps.Keys(newest)) {
		if live, handled := newestLive(workers, kind); handled && live != jobs.AnyVersion && live < newest[kind] {
			unknown = append(unknown, UnknownVersion{kind, newest[kind], live})
		}
	}
	return unknown, nil
}

// newestLive returns the newest version of a kind's payloads that workers take, [jobs.AnyVersion] if one takes all, and whether a worker
// takes the kind.
func newestLive(workers []WorkerInfo, kind string) (newest int, handled bool) {
	for _, w := range workers {
		if !slices.Contains(w.Kinds, kind) {
			continue
		}
		handled = true
		version, declared := w.Versions[kind]
		if !declared || version == jobs.AnyVersion {
			return jobs.AnyVersion, true
		}
		newest = max(newest, version)
	}
	return newest, handled
}

// unknownVersion returns the finding that no taker of a job knows the version of its payload.
func (w *why) unknownVersion() possible {
	version := w.job.PayloadVersion()
	var known []string
	for _, taker := range w.takers {
		if taker.Takes(w.job.Kind, version) {
			return possible{}
		}
		known = append(known, fmt.Sprintf("%s knows %d", strconv.Quote(taker.Name), taker.Versions[w.job.Kind]))
	}
	more := ""
	if rest := len(known) - 5; rest > 0 {
		known, more = known[:5], fmt.Sprintf(", and %d others", rest)
	}
	return possible{len(known) > 0, newFinding(ReasonUnknownVersion, "no live worker knows version %d of the payloads of its kind: worker %s%s",
		version, strings.Join(known, ", "), more)}
}
