package lifecycle

import (
	"strconv"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// holder is what the fences of a statement's rows have in common.
type holder struct{ worker, attempt int64 }

// groups are ends by what their fences have in common: by worker (there is more than one only after the worker was declared
// dead) and by attempt number (most are first attempts).
type groups map[holder][]*End

// add adds an end to its group. No group becomes larger than most.
func (g groups) add(e *End, most int) {
	h := holder{e.Job.WorkerID, int64(e.Job.Attempt)}
	group, known := g[h]
	if !known {
		group = make([]*End, 0, most)
	}
	g[h] = append(group, e)
}

// ids are the ids of the jobs.
func ids(ends []*End) []int64 {
	list := make([]int64, len(ends))
	for i, e := range ends {
		list[i] = e.Job.ID
	}
	return list
}

// Fences returns the JSON list [[id, attempt], ...], or [[id, attempt, result], ...] when there are results.
func Fences(ends []*End) string {
	list := make([]byte, 1, 24*len(ends)+2)
	list[0] = '['
	for i, e := range ends {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, '[')
		list = strconv.AppendInt(list, e.Job.ID, 10)
		list = append(list, ',')
		list = strconv.AppendInt(list, int64(e.Job.Attempt), 10)
		if e.Result != nil {
			list = append(list, ',')
			list = core.AppendString(list, *e.Result)
		}
		list = append(list, ']')
	}
	return string(append(list, ']'))
}
