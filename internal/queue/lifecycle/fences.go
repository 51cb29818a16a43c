package lifecycle

import (
	"strconv"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// holder identifies the common part of the fences of a statement's rows.
type holder struct{ worker, attempt int64 }

// groups holds ends by the common part of their fences: by worker (there is more than one only after the worker was
// declared dead) and by attempt number (most are first attempts).
type groups map[holder][]*End

// add adds an end to its group, which never has more than most ends.
func (g groups) add(e *End, most int) {
	h := holder{e.Job.WorkerID, int64(e.Job.Attempt)}
	group, known := g[h]
	if !known {
		group = make([]*End, 0, most)
	}
	g[h] = append(group, e)
}

// ids returns the ids of the ends' jobs.
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
