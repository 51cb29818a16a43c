package admin

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// history answers with the outcomes of jobs in steps of time.
func (h *Handler) history(r *http.Request) (answer, error) {
	q := queryOf(r, "queue", "kind", "since", "until", "step_s")
	filter := inspect.HistoryFilter{
		Queue: q.text("queue"), Kind: q.text("kind"), Since: q.time("since"), Until: q.time("until"), Step: q.seconds("step_s"),
	}
	if q.fault != nil {
		return answer{}, q.fault
	}
	history, err := h.inspector.History(r.Context(), filter)
	return answer{body: history}, err
}

// seconds returns a number of seconds, or 0 if the parameter is missing.
func (p *parameters) seconds(name string) time.Duration {
	text := p.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		p.fail(&jobs.InvalidError{Field: name, Value: fmt.Sprintf("%.40q", text), Must: "be a number of seconds"})
	}
	return time.Duration(n) * time.Second
}
