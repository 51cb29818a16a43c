package top

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// With many workers, top shows the busiest of them.
func TestManyWorkers(t *testing.T) {
	frame := Frame{}
	for i := range human.MaxRows + 30 {
		frame.Workers = append(frame.Workers, inspect.WorkerInfo{Name: fmt.Sprintf("worker-%04d", i)})
	}
	frame.Workers[human.MaxRows+29].Running = 1
	out := strings.Join(Text("jobs.db", frame, 0), "\n")
	if strings.Count(out, "worker-") != human.MaxRows || !strings.Contains(out, fmt.Sprintf("worker-%04d", human.MaxRows+29)) ||
		!strings.Contains(out, "\n  and 30 more workers: 0 running (`sqluice workers` lists them)\n") {
		t.Errorf("of many workers top shows\n%s", out)
	}
}
