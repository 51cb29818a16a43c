package move

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sqluice/sqluice/db"
)

// first is a position before the first row of a table.
const first = math.MinInt64

// table is a table with ids. A move copies it row by row in the order of the ids.
type table struct {
	name string
	rows string // the name of the rows for people
	list func(ctx context.Context, q db.Querier, after, n int64) ([]row, error)
	add  func(q db.Querier, ctx context.Context, items string) (int64, error)
	row  reflect.Type                 // the generated struct of a row
	last func(db.GetLastIDsRow) int64 // id of the last row, 0 when there is none
}

// row is a row as a JSON list of its columns, in their order. The same row gives the same text on every engine.
type row struct {
	id   int64
	text []byte
}

// tables returns the tables with ids in the order of copying: errors refer to jobs.
func tables() []table {
	return []table{
		{
			name: "sqluice_jobs", rows: "jobs", row: reflect.TypeFor[db.Job](),
			list: func(ctx context.Context, q db.Querier, after, n int64) ([]row, error) {
				list, err := q.ListJobsFrom(ctx, db.ListJobsFromParams{AfterID: after, N: n})
				return encodeRows("job", list, err, func(j db.Job) row { return row{id: j.ID} })
			},
			add:  db.Querier.ImportJobs,
			last: func(r db.GetLastIDsRow) int64 { return r.Job },
		},
		{
			name: "sqluice_job_errors", rows: "errors of jobs", row: reflect.TypeFor[db.JobError](),
			list: func(ctx context.Context, q db.Querier, after, n int64) ([]row, error) {
				list, err := q.ListJobErrorsFrom(ctx, db.ListJobErrorsFromParams{AfterID: after, N: n})
				return encodeRows("error", list, err, func(e db.JobError) row { return row{id: e.ID} })
			},
			add:  db.Querier.ImportJobErrors,
			last: func(r db.GetLastIDsRow) int64 { return r.JobError },
		},
		{
			name: "sqluice_workers", rows: "workers", row: reflect.TypeFor[db.Worker](),
			list: func(ctx context.Context, q db.Querier, after, n int64) ([]row, error) {
				list, err := q.ListWorkersFrom(ctx, db.ListWorkersFromParams{AfterID: after, N: n})
				return encodeRows("worker", list, err, func(w db.Worker) row { return row{id: w.ID} })
			},
			add:  db.Querier.ImportWorkers,
			last: func(r db.GetLastIDsRow) int64 { return r.Worker },
		},
		{
			name: "sqluice_job_audit", rows: "notes of what people changed", row: reflect.TypeFor[db.JobAudit](),
			list: func(ctx context.Context, q db.Querier, after, n int64) ([]row, error) {
				list, err := q.ListAuditFrom(ctx, db.ListAuditFromParams{AfterID: after, N: n})
				return encodeRows("change", list, err, func(a db.JobAudit) row { return row{id: a.ID} })
			},
			add:  db.Querier.ImportAudit,
			last: func(r db.GetLastIDsRow) int64 { return r.Audit },
		},
	}
}

// named returns the tables whose rows have names and no ids: pauses of queues and kinds, declarations, rules of retention, schedules and
// their last ticks, and unique keys with a window. Each is read as a whole. Rows are numbered in the order of their names' bytes, because
// engines sort text differently.
func named() []table {
	return []table{
		namedTable("sqluice_pauses", "pause", "queues and kinds that are paused", db.Querier.ImportPauses, db.Querier.ListPauses,
			func(a, b db.Pause) int { return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind)) }),
		namedTable("sqluice_declarations", "declaration", "what programs declare", db.Querier.ImportDeclarations, db.Querier.ListDeclarations,
			func(a, b db.Declaration) int { return cmp.Compare(a.ID, b.ID) }),
		namedTable("sqluice_retentions", "rule of retention", "rules of how long jobs are kept", db.Querier.ImportRetentions, db.Querier.ListRetentions,
			func(a, b db.Retention) int {
				return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Origin, b.Origin))
			}),
		namedTable("sqluice_limits", "limit", "limits", db.Querier.ImportLimits, db.Querier.ListAllLimits,
			func(a, b db.Limit) int {
				return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Name, b.Name), cmp.Compare(a.LimitKey, b.LimitKey))
			}),
		namedTable("sqluice_limit_keys", "limit key", "limit keys", db.Querier.ImportLimitKeys, db.Querier.ListAllLimitKeys,
			func(a, b db.LimitKey) int {
				return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Name, b.Name), cmp.Compare(a.LimitKey, b.LimitKey))
			}),
		namedTable("sqluice_lanes", "lane", "lanes of jobs that wait for limits", db.Querier.ImportLanes, db.Querier.ListAllLanes,
			func(a, b db.Lane) int {
				return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.LimitKey, b.LimitKey), cmp.Compare(a.Queue, b.Queue))
			}),
		namedTable("sqluice_schedules", "schedule", "schedules", db.Querier.ImportSchedules,
			func(q db.Querier, ctx context.Context) ([]db.Schedule, error) {
				return q.ListSchedules(ctx, db.ListSchedulesParams{N: math.MaxInt64})
			},
			func(a, b db.Schedule) int { return cmp.Compare(a.Name, b.Name) }),
		namedTable("sqluice_schedule_ticks", "tick", "ticks of schedules", db.Querier.ImportScheduleTicks, db.Querier.ListAllScheduleTicks,
			func(a, b db.ScheduleTick) int {
				return cmp.Or(cmp.Compare(a.Schedule, b.Schedule), cmp.Compare(a.Tick, b.Tick))
			}),
		namedTable("sqluice_unique_keys", "unique key", "unique keys that are taken for a time", db.Querier.ImportUniqueKeys, db.Querier.ListAllUniqueKeys,
			func(a, b db.UniqueKey) int {
				return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.UniqueKey, b.UniqueKey))
			}),
	}
}

// allTables returns all tables that a move copies.
func allTables() []table { return append(tables(), named()...) }

func namedTable[T any](
	name, what, rows string, add func(db.Querier, context.Context, string) (int64, error),
	list func(db.Querier, context.Context) ([]T, error), compare func(a, b T) int,
) table {
	return table{
		name: name, rows: rows, row: reflect.TypeFor[T](),
		list: func(ctx context.Context, q db.Querier, after, _ int64) ([]row, error) {
			if after != first {
				return nil, nil
			}
			list, err := list(q, ctx)
			slices.SortFunc(list, compare)
			number := int64(0)
			return encodeRows(what, list, err, func(T) row {
				number++
				return row{id: number}
			})
		},
		add:  add,
		last: func(db.GetLastIDsRow) int64 { return 0 },
	}
}

func encodeRows[T any](what string, list []T, err error, describe func(T) row) ([]row, error) {
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(list))
	for i, item := range list {
		rows[i] = describe(item)
		if rows[i].text, err = encode(item); err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, rows[i].id, err)
		}
	}
	return rows, nil
}

// encode returns the fields of a generated struct, the columns of the table, as a JSON list.
func encode(item any) ([]byte, error) {
	v := reflect.ValueOf(item)
	values := make([]any, v.NumField())
	for i := range values {
		values[i] = v.Field(i).Interface()
		if !portable(values[i]) {
			return nil, fmt.Errorf("the text in %s is not valid UTF-8 or holds a NUL, which not every engine keeps: mend or delete the row",
				v.Type().Field(i).Name)
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(values); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// portable reports whether every engine returns a value unchanged. Only programs other than the library can write other values.
func portable(value any) bool {
	text := ""
	switch value := value.(type) {
	case string:
		text = value
	case *string:
		if value != nil {
			text = *value
		}
	}
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}
