package admin

import (
	"net/http"
	"time"

	"github.com/sqluice/sqluice/jobs/inspect"
)

// lateAfter is the age of the last heartbeat from which pages show a worker as late. A worker sends a heartbeat every ten seconds.
const lateAfter = 15 * time.Second

// workerLine is the row of a worker on pages.
type workerLine struct {
	inspect.WorkerInfo
	Slots int
	Late  bool // its heartbeat is overdue
}

func (h *Handler) workersPage(r *http.Request) (view, error) {
	if err := noQuery(r); err != nil {
		return view{}, err
	}
	list, err := h.inspector.Workers(r.Context())
	if err != nil {
		return view{}, err
	}
	return view{"workers", "Workers", h.workerLines(list)}, nil
}

func (h *Handler) workerLines(list []inspect.WorkerInfo) []workerLine {
	lines, now := make([]workerLine, 0, len(list)), h.inspector.Now()
	for _, w := range list {
		line := workerLine{WorkerInfo: w, Late: now.Sub(w.Heartbeat) > lateAfter}
		for _, slots := range w.Queues {
			line.Slots += slots
		}
		lines = append(lines, line)
	}
	return lines
}
