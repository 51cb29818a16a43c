package history

import "fmt"

// checkForgotten checks the jobs of users who were forgotten after their enqueuers had ended, sets their enqueues and runs aside, and returns
// the other rows. Such jobs need not be done.
func (c *collected) checkForgotten(r *Report, rows []Row) (others []Row) {
	there := map[int64]Row{}
	for _, row := range rows {
		there[row.ID] = row
	}
	users := map[string]string{} // of enqueues, by key
	theirs := map[int64]bool{}
	for key, q := range c.enqueues {
		if _, forgotten := c.forgotten[q.user]; !forgotten || q.user == "" {
			continue
		}
		users[key] = q.user
		delete(c.enqueues, key)
		if q.outcome != Acked || q.existed {
			continue
		}
		r.Forgotten++
		theirs[q.job] = true
		switch row, kept := there[q.job]; {
		case rows != nil && !kept:
			r.Lost = append(r.Lost, fmt.Sprintf("%q, job %d of the forgotten user %q, was acknowledged and is gone", key, q.job, q.user))
		case rows != nil && !row.Erased:
			r.Left = append(r.Left, fmt.Sprintf("%q, job %d of the forgotten user %q, is not erased", key, q.job, q.user))
		}
	}
	c.checkRunsOf(r, users, theirs)
	for _, row := range rows {
		if !theirs[row.ID] {
			others = append(others, row)
		}
	}
	if rows != nil && others == nil {
		others = []Row{}
	}
	return others
}

// checkRunsOf finds runs that began after their user had been forgotten, and adds the jobs to theirs.
func (c *collected) checkRunsOf(r *Report, users map[string]string, theirs map[int64]bool) {
	for a, list := range c.starts {
		for _, e := range list {
			user, is := users[e.Key]
			if !is {
				continue
			}
			theirs[a.job], c.jobs[a.job].apart = true, true
			if e.At > c.forgotten[user] {
				r.Left = append(r.Left, fmt.Sprintf("attempt %d of job %d began after its user %q had been forgotten", a.number, a.job, user))
			}
		}
	}
}
