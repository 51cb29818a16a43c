package sql_test

import (
	"fmt"
	"testing"
)

// Version 15 adds up what there is of history: over all kinds of a queue, all queues of a kind, and both. The version before
// does not know these rows.
func TestHistoryIsAddedUp(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, provider := e.at(t, 14)
		mustExec(t, pool, `INSERT INTO job_history (step, start_at, queue, kind, event, bucket, times) VALUES
			(60, 0, 'a', 'k', 'done', 0, 1), (60, 0, 'a', 'l', 'done', 0, 2), (60, 0, 'b', 'k', 'done', 0, 4),
			(60, 0, 'b', 'k', 'wait', 0, 8), (60, 0, 'b', 'k', 'wait', 1, 16), (60, 60, 'b', 'k', 'done', 0, 32)`)
		list := func() string {
			return fmt.Sprint(rows(t, pool, `SELECT start_at, event, bucket, queue, kind, times FROM job_history ORDER BY start_at, event, bucket, queue, kind`))
		}
		before := list()
		migrateTo(t, provider, 15)
		const want = "[[0 done 0   7] [0 done 0  k 5] [0 done 0  l 2] [0 done 0 a  3] [0 done 0 a k 1] [0 done 0 a l 2] [0 done 0 b  4] [0 done 0 b k 4]" +
			" [0 wait 0   8] [0 wait 0  k 8] [0 wait 0 b  8] [0 wait 0 b k 8] [0 wait 1   16] [0 wait 1  k 16] [0 wait 1 b  16] [0 wait 1 b k 16]" +
			" [60 done 0   32] [60 done 0  k 32] [60 done 0 b  32] [60 done 0 b k 32]]"
		if have := list(); have != want {
			t.Errorf("the history is\n%s, not\n%s", have, want)
		}
		migrateTo(t, provider, 14)
		// As by a worker of the newer version that still runs.
		mustExec(t, pool, `INSERT INTO job_history (step, start_at, queue, kind, event, bucket, times) VALUES (60, 0, '', '', 'done', 0, 1)`)
		migrateTo(t, provider, 15)
		if have := list(); have != want {
			t.Errorf("the second time it is\n%s, not\n%s", have, want)
		}
		migrateTo(t, provider, 14)
		if have := list(); have != before {
			t.Errorf("after the way back it is\n%s, not\n%s", have, before)
		}
	})
}
