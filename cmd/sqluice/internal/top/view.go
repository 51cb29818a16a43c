package top

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	"github.com/sqluice/sqluice/internal/printable"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// view renders a frame together with the state of the model.
type view struct {
	database    string
	frame       Frame
	rates       rates
	filter      string
	chosen      string // the queue that keys act on
	status      string // the end of the first line: the time
	staleReason string // the reason why the frame is out of date
	footer      []string
	paint       painter

	moreQueues, moreWorkers string // summaries of the rows that bound has removed
}

// bound reduces the queues and the workers of the frame to the busiest ones, and sets the summaries of the others.
func (v *view) bound() {
	shown, rest := human.Busiest(v.frame.Queues, human.MaxRows, func(q Queue) int64 { return q.Scheduled + q.Pending + q.Running + q.Failed })
	if v.frame.Queues = shown; len(rest) > 0 {
		var queues []inspect.QueueInfo
		var failed int64
		for _, q := range rest {
			queues = append(queues, q.QueueInfo)
			failed += q.Failed
		}
		sum := human.Sum(queues)
		v.moreQueues = fmt.Sprintf("and %d more queues: %s pending, %s running, %s failed%s (`sqluice queues --all` lists them)",
			len(rest), short(sum.Pending), short(sum.Running), short(failed), human.Paused(queues))
	}
	workers, others := human.Busiest(v.frame.Workers, human.MaxRows, func(w inspect.WorkerInfo) int64 { return w.Running })
	if v.frame.Workers = workers; len(others) > 0 {
		var running int64
		for _, w := range others {
			running += w.Running
		}
		v.moreWorkers = fmt.Sprintf("and %d more workers: %s running (`sqluice workers` lists them)", len(others), short(running))
	}
}

// minSpaciousHeight is the least height with blank lines between tables and with the numbers of the last hour.
const minSpaciousHeight = 20

// lines returns the view in at most height lines of at most width columns; 0 means no limit.
func (v *view) lines(width, height int) []string {
	head := v.head(width, height == 0 || height >= minSpaciousHeight)
	var foot []string
	if len(v.footer) > 0 {
		foot = []string{v.paint(faint, fill(v.footer, width))}
	}
	sections := []grid{v.queues(), v.workers(), v.failures()}
	blank := height == 0 || height >= minSpaciousHeight
	rows := make([]int, len(sections))
	for i := range sections {
		rows[i] = max(1, len(sections[i].rows))
	}
	if height > 0 {
		room := height - len(head) - len(foot) - len(sections) // their headers
		if blank {
			room -= len(sections)
		}
		rows = share(room, rows)
	}
	body := head
	for i, section := range sections {
		if blank {
			body = append(body, "")
		}
		section.window(rows[i])
		body = append(body, section.lines(width, v.paint)...)
		if len(section.rows) == 0 {
			body = append(body, v.paint(faint, cut("  "+section.none, width)))
		}
		if section.more != "" {
			body = append(body, v.paint(faint, cut("  "+section.more, width)))
		}
	}
	if height == 0 {
		return append(body, foot...)
	}
	body = body[:max(0, min(len(body), height-len(foot)))]
	for len(body) < height-len(foot) {
		body = append(body, "")
	}
	return append(body, foot...)[:height]
}

// head returns the lines above the tables: all, or only the most important ones.
func (v *view) head(width int, all bool) []string {
	count := func(s jobs.Status) string { return short(v.frame.Jobs[s]) + " " + string(s) }
	first := fill([]string{v.paint(heading, "sqluice top"), printable.Line(v.database), v.paint(faint, v.status)}, width)
	lines := []string{
		first,
		fill([]string{
			count(jobs.StatusPending), count(jobs.StatusRunning), v.painted(bad, v.frame.Jobs[jobs.StatusFailed], count(jobs.StatusFailed)),
			count(jobs.StatusScheduled), count(jobs.StatusDone), count(jobs.StatusCancelled),
		}, width),
	}
	waits := "nothing waits"
	if !v.frame.Oldest.IsZero() {
		waits = "oldest waits " + since(v.frame.At, v.frame.Oldest)
	}
	parts := []string{waits}
	if in, done, failed, known := v.rates.perSecond(); known {
		parts = append(parts, "in "+perSecond(in), "done "+perSecond(done), "failed "+perSecond(failed))
	}
	lines = append(lines, fill(parts, width))
	if all {
		lines = append(lines, fill(v.recentCounts(), width), fill(v.latencies(), width))
	}
	if v.staleReason != "" {
		for _, line := range wrap(printable.Line(v.staleReason), width, 3) {
			lines = append(lines, v.paint(bad, line))
		}
	}
	return lines
}

// recentCounts returns the numbers of jobs that ended in the last 60 seconds and in the last hour, by outcome.
func (v *view) recentCounts() []string {
	intervals, hour := v.frame.History.Intervals, v.frame.History.Total
	if len(intervals) < 2 {
		return nil
	}
	done, failed := v.rates.lastMinute(v.frame)
	return []string{
		"last minute " + short(done) + " done", v.painted(bad, failed, short(failed)+" failed"),
		"last hour " + short(hour.Done) + " done", v.painted(bad, hour.Failed, short(hour.Failed)+" failed"),
		short(hour.Retried) + " retried", v.painted(warning, hour.Crashed, short(hour.Crashed)+" crashed"),
	}
}

// latencies returns quantiles of the waits and the run times in the last hour.
func (v *view) latencies() []string {
	quantiles := func(l inspect.Latency) string {
		if l.Jobs == 0 {
			return "-"
		}
		return "p50 " + brief(l.P50) + " p90 " + brief(l.P90) + " p99 " + brief(l.P99)
	}
	return []string{"waited " + quantiles(v.frame.History.Total.Wait), "ran " + quantiles(v.frame.History.Total.Run)}
}

// brief returns a duration in one unit, such as 0.7ms, 12ms, 1.5s or 1m.
func brief(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + "ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	}
	return human.Span(int64(d.Seconds()))
}

// painted returns a text in a style if n, the number in it, is not 0.
func (v *view) painted(s style, n int64, text string) string {
	if n == 0 {
		return text
	}
	return v.paint(s, text)
}

// matches reports whether one of the texts contains the filter. Case does not matter.
func (v *view) matches(texts ...string) bool {
	return v.filter == "" || slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(v.filter))
	})
}

// queueNames returns the names of the queues that match the filter.
func (v *view) queueNames() []string {
	var names []string
	for _, q := range v.frame.Queues {
		if v.matches(q.Name) {
			names = append(names, q.Name)
		}
	}
	return names
}

func (v *view) queues() grid {
	g := grid{none: v.none("no queues"), more: v.moreQueues, columns: []column{
		{title: "QUEUE", least: 8, worth: 10}, {title: "PENDING", right: true, worth: 9}, {title: "OLDEST", right: true, worth: 6},
		{title: "RUNNING", right: true, worth: 7}, {title: "SCHEDULED", right: true, worth: 2}, {title: "FAILED", right: true, worth: 5},
		{title: "DONE", right: true, worth: 1}, {title: "STATE", worth: 8},
	}}
	for _, q := range v.frame.Queues {
		if !v.matches(q.Name) {
			continue
		}
		state := cell{"active", good}
		switch {
		case !q.PausedAt.IsZero():
			state = cell{"paused " + since(v.frame.At, q.PausedAt), warning}
		case q.Slots == 0:
			state = cell{"no worker", faint}
			if q.Pending > 0 {
				state.style = bad
			}
		case len(q.PausedKinds) == 1:
			state = cell{"1 kind paused", warning}
		case len(q.PausedKinds) > 1:
			state = cell{fmt.Sprintf("%d kinds paused", len(q.PausedKinds)), warning}
		}
		failed := cell{text: short(q.Failed)}
		if q.Failed > 0 {
			failed.style = bad
		}
		g.rows = append(g.rows, row{chosen: q.Name == v.chosen, cells: []cell{
			{text: printable.Line(q.Name)}, {text: short(q.Pending)}, {text: since(v.frame.At, q.Oldest)},
			{text: fmt.Sprintf("%s/%s", short(q.Running), short(int64(q.Slots)))}, {text: short(q.Scheduled)}, failed,
			{text: short(q.Done)}, state,
		}})
	}
	return g
}

// lateHeartbeat is the age from which a heartbeat is highlighted: the default lease.
const lateHeartbeat = 30 * time.Second

func (v *view) workers() grid {
	g := grid{none: v.none("no workers"), more: v.moreWorkers, columns: []column{
		{title: "WORKER", least: 8, worth: 10}, {title: "HOST", least: 6, worth: 4},
		{title: "PID", right: true, worth: 1}, {title: "RUNNING", right: true, worth: 8},
		{title: "HEARTBEAT", right: true, worth: 7}, {title: "UP", right: true, worth: 3}, {title: "QUEUES", least: 6, worth: 2},
	}}
	for _, w := range v.frame.Workers {
		names := slices.Sorted(maps.Keys(w.Queues))
		if !v.matches(append(names, w.Name, w.Host)...) {
			continue
		}
		slots, queues := 0, ""
		for _, name := range names {
			slots += w.Queues[name]
			queues += fmt.Sprintf(" %s=%d", name, w.Queues[name])
		}
		heartbeat := cell{text: since(v.frame.At, w.Heartbeat)}
		if v.frame.At.Sub(w.Heartbeat) > lateHeartbeat {
			heartbeat = cell{"late " + heartbeat.text, warning}
		}
		g.rows = append(g.rows, row{cells: []cell{
			{text: printable.Line(w.Name)}, {text: printable.Line(w.Host)}, {text: strconv.Itoa(w.PID)},
			{text: fmt.Sprintf("%s/%s", short(w.Running), short(int64(slots)))}, heartbeat,
			{text: since(v.frame.At, w.StartedAt)}, {text: printable.Line(strings.TrimSpace(queues))},
		}})
	}
	return g
}

func (v *view) failures() grid {
	g := grid{none: v.none("no failed jobs"), columns: []column{
		{title: "FAILED", right: true, worth: 8}, {title: "JOB", right: true, worth: 10},
		{title: "KIND", least: 8, worth: 7}, {title: "QUEUE", least: 6, worth: 3}, {title: "ATTEMPT", right: true, worth: 2},
		{title: "ERROR", least: 12, worth: 9},
	}}
	for _, job := range v.frame.Failures {
		if !v.matches(job.Kind, job.Queue, job.LastError) {
			continue
		}
		message, _, _ := strings.Cut(job.LastError, "\n")
		g.rows = append(g.rows, row{cells: []cell{
			{text: human.Age(v.frame.At, job.FinishedAt)}, {text: strconv.FormatInt(job.ID, 10)}, {text: printable.Line(job.Kind)},
			{text: printable.Line(job.Queue)}, {text: human.Attempts(job)}, {printable.Line(human.Shorten(message, 500)), bad},
		}})
	}
	return g
}

// none returns the text for an empty table, with the filter if there is one.
func (v *view) none(text string) string {
	if v.filter != "" {
		return text + ` with "` + printable.Line(v.filter) + `"`
	}
	return text
}

// since returns the age of t, such as 3m.
func since(now, t time.Time) string { return strings.TrimSuffix(human.Age(now, t), " ago") }

// fill returns a line with the first parts that fit into width; width 0 means no limit. It always has the first part, cut if necessary.
func fill(parts []string, width int) string {
	line := ""
	for i, part := range parts {
		if part == "" {
			continue
		}
		longer := line + strings.Repeat(" ", gap) + part
		if i == 0 {
			longer = part
		}
		if i > 0 && width > 0 && cut(longer, width) != longer {
			break
		}
		line = longer
	}
	return cut(line, width)
}

// short returns a number in at most five characters, up to 9999T.
func short(n int64) string {
	if n < 100_000 {
		return strconv.FormatInt(n, 10)
	}
	value, unit := float64(n), ""
	for _, unit = range []string{"k", "M", "G", "T"} {
		if value /= 1000; value < 9999.5 {
			break
		}
	}
	if value < 99.95 {
		return strconv.FormatFloat(value, 'f', 1, 64) + unit
	}
	return strconv.FormatFloat(value, 'f', 0, 64) + unit
}

// perSecond returns a rate as text, such as 9.9/s or 123k/s.
func perSecond(rate float64) string {
	if rate < 9.95 {
		return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
	}
	return short(int64(rate+0.5)) + "/s"
}

// share divides room among several demands: in turn each gets one more until it has the wanted number or no room is left.
func share(room int, wanted []int) []int {
	given := make([]int, len(wanted))
	for grew := true; grew; {
		grew = false
		for i := range wanted {
			if room > 0 && given[i] < wanted[i] {
				given[i]++
				room--
				grew = true
			}
		}
	}
	return given
}
