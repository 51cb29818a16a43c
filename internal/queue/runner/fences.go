package runner

import (
	"strconv"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// holder is what the fences of a statement's rows have in common.
type holder struct{ worker, attempt int64 }

// addByHolder adds an outcome to its group by worker (there is more than one only after the worker was declared dead) and
// by attempt number (most are first attempts). No group becomes larger than most.
func addByHolder(groups map[holder][]outcome, o outcome, most int) {
	h := holder{o.attempt.job.WorkerID, int64(o.attempt.job.Attempt)}
	group, known := groups[h]
	if !known {
		group = make([]outcome, 0, most)
	}
	groups[h] = append(group, o)
}

// ids is the JSON list [id, ...].
func ids(outcomes []outcome) string {
	list := make([]byte, 1, 12*len(outcomes)+2)
	list[0] = '['
	for i, o := range outcomes {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, o.attempt.job.ID, 10)
	}
	return string(append(list, ']'))
}

// fences is the JSON list [[id, attempt], ...], or [[id, attempt, result], ...] when there are results.
func fences(outcomes []outcome) string {
	list := make([]byte, 1, 24*len(outcomes)+2)
	list[0] = '['
	for i, o := range outcomes {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, '[')
		list = strconv.AppendInt(list, o.attempt.job.ID, 10)
		list = append(list, ',')
		list = strconv.AppendInt(list, int64(o.attempt.job.Attempt), 10)
		if o.result != nil {
			list = append(list, ',')
			list = core.AppendString(list, *o.result)
		}
		list = append(list, ']')
	}
	return string(append(list, ']'))
}
