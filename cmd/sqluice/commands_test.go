package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	safe "github.com/sqluice/sqluice/internal/printable"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func commandTests() tests {
	return tests{
		"AStoppedCommandSaysWhy":                       aStoppedCommandSaysWhy,
		"ListFiltersAndPages":                          listFiltersAndPages,
		"UpdateChangesWhatHasNotStarted":               updateChangesWhatHasNotStarted,
		"Schedules":                                    schedulesLive,
		"SchedulesAnswerInJSON":                        schedulesAnswerInJSON,
		"JobsExpire":                                   jobsExpire,
		"PayloadsArePosted":                            payloadsArePosted,
		"RefusedPostsCloseTheirLimitKey":               refusedPostsCloseTheirLimitKey,
		"ShowHasEverything":                            showHasEverything,
		"ControlCharactersOfJobsNeverReachTheTerminal": controlCharactersOfJobsNeverReachTheTerminal,
		"RetryCancelDeleteDoWhatCanBeDone":             retryCancelDeleteDoWhatCanBeDone,
		"Why":                                          why,
		"FailedReportAndRetryFailed":                   failedReportAndRetryFailed,
		"PruneAndDeleteByAge":                          pruneAndDeleteByAge,
		"Wait":                                         wait,
		"Queues":                                       queues,
		"Retention":                                    retention,
		"Limits":                                       limitsLive,
		"LimitsOfADryRun":                              limitsDryRun,
		"KeysOfLimits":                                 limitsKeys,
		"LimitsInOrder":                                limitsOrdered,
		"DepthOfLimits":                                limitsDepth,
	}
}

func TestACommandDoesNotMakeTheFile(t *testing.T) {
	c := newCLI(t)
	for _, args := range [][]string{{"status"}, {"down"}, {"list"}, {"workers"}, {"wait", "1"}, {"retry", "--failed"}} {
		c.fails(exitFailure, []string{c.db, "no such database", "sqluice up"}, args...)
	}
	if exists(c.db) {
		t.Error("a database was made")
	}
}

// upDownAndStatus starts with a database without tables, or without a file.
func upDownAndStatus(t *testing.T, c *cli) {
	if out := c.ok("up"); !strings.Contains(out, "up 00001_jobs.sql") {
		t.Errorf("up prints %q", out)
	}
	if out := c.ok("up"); !strings.Contains(out, "nothing to do") {
		t.Errorf("a second up prints %q", out)
	}
	newest := get[versions](c, "version").Schema
	if s := get[schemaStatus](c, "status"); s.Schema != newest || s.Wanted != newest || s.State != "up to date" || s.Database != c.shown() {
		t.Errorf("status is %+v, want version %d", s, newest)
	}
	for version := newest; version > 0; version-- {
		args := []string{"down"}
		if version == 1 {
			c.fails(2, []string{"--all is missing"}, args...)
			args = append(args, "--all")
		}
		if version == newest {
			args = append(args, "--all")
		}
		out := c.ok(args...)
		if !strings.HasPrefix(out, fmt.Sprintf("down %05d_", version)) {
			t.Errorf("down from version %d prints %q", version, out)
		}
		if one := strings.Contains(out, fmt.Sprintf("version %d now", version-1)); one != (version == newest) {
			t.Errorf("%q from version %d prints %q", args, version, out)
		}
		if out := c.ok("status"); !strings.Contains(out, fmt.Sprintf("version %d of %d", version-1, newest)) || !strings.Contains(out, "pending") {
			t.Errorf("status after down from %d is %q", version, out)
		}
		c.fails(exitFailure, []string{"schema", "sqluice up"}, "enqueue", "k")
		c.fails(exitFailure, []string{"schema", "sqluice up"}, "work", "--drain", "--exec", execFlag(t, "k", "echo"))
	}
	if out := c.ok("down"); !strings.Contains(out, "nothing to do") {
		t.Errorf("a last down prints %q", out)
	}
	c.ok("up")
	if id := c.enqueue("k"); id != "1" {
		t.Errorf("after up the first job is %s", id)
	}
}

func TestVersion(t *testing.T) {
	c := newCLI(t)
	v := get[versions](c, "version")
	if v.Version == "" || !strings.HasPrefix(v.SQLite, "3.") || v.Schema < 7 {
		t.Errorf("version is %+v", v)
	}
	for _, text := range []string{v.Version, v.SQLite, fmt.Sprint(v.Schema)} {
		if out := c.ok("version"); !strings.Contains(out, text) {
			t.Errorf("version lacks %q: %q", text, out)
		}
	}
	c.ok("up")
	if s := get[schemaStatus](c, "status"); s.Engine != "SQLite "+v.SQLite || s.Wanted != v.Schema || s.WAL == nil {
		t.Errorf("status is %+v, version %+v", s, v)
	}
}

func listFiltersAndPages(t *testing.T, c *cli) {
	c.ok("up")
	if out := c.ok("list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("no jobs are %q", out)
	}
	for i := range 5 {
		c.enqueue("even", "--tag", "t"+fmt.Sprint(i))
		c.enqueue("odd", "--queue", "other", "--in", "1h", "--user-id", fmt.Sprint("u", i))
	}
	ids := func(args ...string) (ids []int64) {
		for _, job := range get[[]jobs.Job](c, append([]string{"list"}, args...)...) {
			ids = append(ids, job.ID)
		}
		return ids
	}
	for _, test := range []struct {
		args string
		want []int64
	}{
		{"", []int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}},
		{"--limit 3", []int64{10, 9, 8}},
		{"--limit 3 --after 8", []int64{7, 6, 5}},
		{"--kind even", []int64{9, 7, 5, 3, 1}},
		{"--status scheduled --limit 2", []int64{10, 8}},
		{"--queue default", []int64{9, 7, 5, 3, 1}},
		{"--tag t1", []int64{3}},
		{"--user-id u1", []int64{4}},
		{"--search EVE --limit 2", []int64{9, 7}},
		{"--status done", nil},
	} {
		if got := ids(strings.Fields(test.args)...); !slices.Equal(got, test.want) {
			t.Errorf("list %s: %v, want %v", test.args, got, test.want)
		}
	}
	page := c.run("list", "--limit", "4")
	if !strings.Contains(page.err, "--after 7") || strings.Contains(page.out, "--after") {
		t.Errorf("a full page: out %q, err %q", page.out, page.err)
	}
	if lines := strings.Split(strings.TrimSpace(page.out), "\n"); len(lines) != 5 || !strings.HasPrefix(lines[0], "ID") || !strings.HasPrefix(lines[1], "10 ") {
		t.Errorf("a page of 4 is\n%s", page.out)
	}
}

func showHasEverything(t *testing.T, c *cli) {
	id := c.enqueue("k", `{"a": [1, "x"]}`, "--queue", "q", "--priority=-7", "--at", "2100-01-01T00:00:00+01:00", "--max-attempts", "3",
		"--timeout", "1m30s", "--unique", "key", "--request-id", "req", "--user-id", "me", "--tag", "t1", "--tag", "t2", "--start-by", "1d")
	job := c.show(id).Job
	var payload any
	if err := json.Unmarshal(job.Payload, &payload); err != nil || fmt.Sprint(payload) != "map[a:[1 x]]" {
		t.Errorf("payload is %s", job.Payload)
	}
	if job.Kind != "k" || job.Queue != "q" || job.Priority != -7 || job.Status != jobs.StatusScheduled || job.MaxAttempts != 3 ||
		job.Timeout != 90*time.Second || job.UniqueKey != "key" || job.RequestID != "req" || job.UserID != "me" ||
		job.StartBy.Sub(job.RunAfter) != 24*time.Hour || !slices.Equal(job.Tags, []string{"t1", "t2"}) || !job.RunAfter.Equal(time.Date(2099, 12, 31, 23, 0, 0, 0, time.UTC)) {
		t.Errorf("the job is %+v", job)
	}
	out := c.ok("show", id)
	for _, text := range []string{"scheduled", `{"a": [1, "x"]}`, "1m30s", "0 of 3", "start by", "t1, t2", "key", "req", "me"} {
		if !strings.Contains(out, text) {
			t.Errorf("show lacks %q:\n%s", text, out)
		}
	}
	c.fails(exitFailure, []string{"job 99", "no such job"}, "show", "99")
	age := regexp.MustCompile(`(created|run after|start by) +.*`) // they say how long ago
	for _, by := range [][]string{{"--unique", "key"}, {"--request-id", "req"}} {
		found := c.ok(append([]string{"show", "--kind", job.Kind}, by...)...)
		if age.ReplaceAllString(found, "") != age.ReplaceAllString(out, "") {
			t.Errorf("show by %q prints\n%s, not\n%s", by, found, out)
		}
		c.fails(exitFailure, []string{"no such job"}, append([]string{"show", "--kind", "other"}, by...)...)
		c.fails(exitUsage, []string{"give an ID"}, append([]string{"show", id, "--kind", job.Kind}, by...)...)
		c.fails(exitUsage, []string{"give an ID"}, append([]string{"show"}, by...)...)
	}
}

func updateChangesWhatHasNotStarted(t *testing.T, c *cli) {
	id, other := c.enqueue("k"), c.enqueue("k", "--in", "1h")
	if out := c.ok("update", id, other, "--priority", "9", "--payload", `{"a": 2}`, "--queue", "q", "--max-attempts", "3"); out != "job "+id+": changed\njob "+other+": changed\n" {
		t.Errorf("update prints %q", out)
	}
	for _, id := range []string{id, other} {
		if job := c.show(id).Job; job.Priority != 9 || job.Queue != "q" || job.MaxAttempts != 3 || !strings.Contains(string(job.Payload), "2") {
			t.Errorf("the job is %+v", job)
		}
	}
	c.ok("update", other, "--in", "0")
	c.ok("update", id, "--at", "2100-01-01T00:00:00Z")
	if job := c.show(id).Job; job.RunAfter.Year() != 2100 || job.Status != jobs.StatusScheduled {
		t.Errorf("the job is %+v", job)
	}
	c.ok("work", "--drain", "--queue", "q", "--exec", execFlag(t, "k", "echo"))
	c.fails(exitFailure, []string{"job " + other, "done"}, "update", other, "--priority", "1")
	c.fails(exitFailure, []string{"no such job"}, "update", "99", "--priority", "1")
	c.ok("sensitive", "mark", "k", "card")
	c.fails(exitUsage, []string{"--payload must not have"}, "update", id, "--payload", `{"card": "[redacted]"}`)
	for text, args := range map[string][]string{
		"give what to change": {id}, "exclude each other": {id, "--in", "1m", "--at", "2100-01-01T00:00:00Z"}, "--payload": {id, "--payload", "{"},
		"--max-attempts": {id, "--max-attempts", "32768"}, "--queue": {id, "--queue", ""}, "ID": {"x", "--priority", "1"},
	} {
		c.fails(exitUsage, []string{text}, append([]string{"update"}, args...)...)
	}
}

func controlCharactersOfJobsNeverReachTheTerminal(t *testing.T, c *cli) {
	id := c.enqueue("k", "\"\u009b31m\u202e\"", "--max-attempts", "1")
	c.ok("work", "--drain", "--exec", execFlag(t, "k", "fail", "1", "bell\x07 esc\x1b[2J csi\u009b2J", "1"))
	for _, args := range [][]string{{"show", id}, {"show", id, "--json"}, {"list"}, {"list", "--json"}, {"failed"}, {"failed", "--all"}, {"failed", "--json"}} {
		if out := c.ok(args...); strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && safe.Harmful(r) }) {
			t.Errorf("sqluice %q prints %q", args, out)
		}
	}
	if a := c.run("wait", id); a.code != exitFailure || strings.ContainsAny(a.err, "\x07\x1b\u009b") {
		t.Errorf("wait: %d, %q", a.code, a.err)
	}
}

func retryCancelDeleteDoWhatCanBeDone(t *testing.T, c *cli) {
	for range 4 {
		c.enqueue("k", "--in", "1h")
	}
	if out := c.ok("cancel", "1", "2"); out != "job 1: cancelled\njob 2: cancelled\n" {
		t.Errorf("cancel prints %q", out)
	}
	for _, test := range []struct {
		args       string
		out        string
		complaints []string
	}{
		{"cancel 1 3 99", "job 3: cancelled\n", []string{"cancel job 1: it is cancelled", "cancel job 99: no such job"}},
		{"retry 77 1 1", "job 1: pending\n", []string{"retry job 77: no such job", "retry job 1: it is pending"}},
		{"delete 2 88 3", "job 2: deleted\njob 3: deleted\n", []string{"delete job 88: no such job"}},
	} {
		a := c.run(strings.Fields(test.args)...)
		if a.code != exitFailure || a.out != test.out {
			t.Errorf("%s: exit code %d, out %q, want 1, %q", test.args, a.code, a.out, test.out)
		}
		if lines := strings.Count(a.err, "\n"); lines != len(test.complaints) {
			t.Errorf("%s: %d lines of complaints, want %d:\n%s", test.args, lines, len(test.complaints), a.err)
		}
		for _, text := range test.complaints {
			if !strings.Contains(a.err, text) {
				t.Errorf("%s: standard error lacks %q:\n%s", test.args, text, a.err)
			}
		}
	}
	if left := get[[]jobs.Job](c, "list"); len(left) != 2 || left[0].Status != jobs.StatusScheduled || left[1].Status != jobs.StatusPending {
		t.Errorf("left are %+v", left)
	}
}

func failedReportAndRetryFailed(t *testing.T, c *cli) {
	c.ok("up")
	if out := c.ok("failed"); out != "no failed jobs\n" {
		t.Errorf("no failed jobs are %q", out)
	}
	for range 3 {
		c.enqueue("a")
	}
	c.enqueue("b")
	c.ok("work", "--drain", "--exec", execFlag(t, "a", "fail", "65", "broken", "1"), "--exec", execFlag(t, "b", "fail", "65", "gone", "1"))
	groups := get[[]inspect.FailedGroup](c, "failed")
	if len(groups) != 2 || groups[0].Kind != "a" || groups[0].Jobs != 3 || !strings.Contains(groups[0].Error, "broken") || groups[1].Jobs != 1 {
		t.Errorf("the report is %+v", groups)
	}
	if all := get[[]jobs.Job](c, "failed", "--all", "--kind", "a"); len(all) != 3 || all[0].Kind != "a" {
		t.Errorf("the failed jobs are %+v", all)
	}
	if out := c.ok("failed", "--all"); strings.Count(out, "\n") != 5 || !strings.Contains(out, "gone") {
		t.Errorf("the failed jobs are\n%s", out)
	}
	if out := c.ok("failed"); strings.Count(out, "\n") != 3 || !strings.Contains(out, "broken") {
		t.Errorf("the report is\n%s", out)
	}
	if groups := get[[]inspect.FailedGroup](c, "failed", "--since", "0s"); len(groups) != 0 {
		t.Errorf("within the last 0 s failed %+v", groups)
	}
	if out := c.ok("retry", "--failed", "--kind", "a"); out != "made pending: 3\n" {
		t.Errorf("retry prints %q", out)
	}
	stats := get[inspect.Stats](c, "stats")
	if stats.Jobs[jobs.StatusPending] != 3 || stats.Jobs[jobs.StatusFailed] != 1 {
		t.Errorf("after the retry there are %+v", stats.Jobs)
	}
	if out := c.ok("stats"); !strings.Contains(out, "no worker for kind a in queue default: 3 pending") {
		t.Errorf("stats are\n%s", out)
	}
}

// show says which worker ran a job, also when it ended well.
func TestShowNamesTheWorker(t *testing.T) {
	c := newCLI(t)
	id := c.enqueue("good")
	if out := c.ok("show", id); strings.Contains(out, "attempt 1") {
		t.Errorf("a job that waits has\n%s", out)
	}
	c.ok("work", "--drain", "--name", "the-worker", "--exec", execFlag(t, "good", "echo"))
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	out := c.ok("show", id)
	for _, part := range []string{"\nattempt 1: done ", ", started ", ", worker the-worker, host " + host} {
		if !strings.Contains(out, part) {
			t.Errorf("show does not print %q:\n%s", part, out)
		}
	}
	if last := c.show(id).Last; last == nil || last.Worker != "the-worker" || last.EndedAt.IsZero() {
		t.Errorf("the last attempt is %+v", last)
	}
}

func TestQueuesWithoutAWorkerSaySo(t *testing.T) {
	c := newCLI(t)
	c.enqueue("k")
	c.enqueue("k", "--queue", "slow")
	c.ok("queues", "pause", "slow")
	out := c.ok("queues")
	if strings.Count(out, "no worker") != 1 || strings.Contains(out, "active") || !strings.Contains(out, "paused") {
		t.Errorf("the queues are\n%s", out)
	}
	c.ok("queues", "resume", "slow")
	c.ok("queues", "pause", "slow", "--for", "10m")
	if out := c.ok("queues"); !strings.Contains(out, ", ends in ") {
		t.Errorf("the queues are\n%s", out)
	}
	c.fails(exitUsage, []string{"--for", "at least 1s"}, "queues", "pause", "slow", "--for", "0")
}

// With many queues, stats shows the ones with the most work.
func TestStatsOfManyQueues(t *testing.T) {
	c := newCLI(t)
	store := testdb.SQLite(t)
	c.db = store.Path()
	client := jobs.New(store)
	for n := range 50 {
		if _, err := client.Enqueue(t.Context(), "k", []byte("1"), jobs.Queue(fmt.Sprintf("queue-%03d", n))); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := client.Enqueue(t.Context(), "k", []byte("1"), jobs.Queue("queue-049")); err != nil {
			t.Fatal(err)
		}
	}
	out := c.ok("stats")
	if strings.Count(out, "no worker for") != 20 || !strings.Contains(out, "queue-049: 3 pending") || !strings.HasSuffix(out, "and for 30 more kinds and queues: 30 pending (--all shows them)\n") {
		t.Errorf("stats are\n%s", out)
	}
	if out := c.ok("stats", "--all"); strings.Count(out, "no worker for") != 50 || strings.Contains(out, "more kinds") {
		t.Errorf("all stats are\n%s", out)
	}
}

func pruneAndDeleteByAge(t *testing.T, c *cli) {
	finish := func() {
		t.Helper()
		c.enqueue("good")
		c.enqueue("bad")
		c.ok("cancel", c.enqueue("k", "--in", "1h"))
		c.ok("work", "--drain", "--exec", execFlag(t, "good", "echo"), "--exec", execFlag(t, "bad", "fail", "65", "no", "1"))
	}
	count := func(s jobs.Status) int64 { return get[inspect.Stats](c, "stats").Jobs[s] }
	finish()
	if out := c.ok("prune", "--older-than", "1h"); out != "0 done jobs: deleted\n0 cancelled jobs: deleted\n" {
		t.Errorf("prune of nothing prints %q", out)
	}
	if out := c.ok("prune", "--older-than", "0s"); out != "1 done jobs: deleted\n1 cancelled jobs: deleted\n" || count(jobs.StatusFailed) != 1 {
		t.Errorf("prune prints %q and leaves %d failed jobs", out, count(jobs.StatusFailed))
	}
	if out := c.ok("prune", "--older-than", "0s", "--status", "failed"); out != "1 failed jobs: deleted\n" {
		t.Errorf("prune of the failed prints %q", out)
	}
	finish()
	if out := c.ok("delete", "--status", "done", "--older-than", "0s"); out != "1 done jobs: deleted\n" || count(jobs.StatusCancelled) != 1 {
		t.Errorf("delete prints %q and leaves %d cancelled jobs", out, count(jobs.StatusCancelled))
	}
}

func wait(t *testing.T, c *cli) {
	for _, kind := range []string{"json", "text", "none", "bad"} {
		c.enqueue(kind)
	}
	c.ok("work", "--drain", "--exec", execFlag(t, "json", "print", `{\"n\": [1]}\n`), "--exec", execFlag(t, "text", "print", `two\nlines\n`),
		"--exec", execFlag(t, "none", "print", ``), "--exec", execFlag(t, "bad", "fail", "65", "broken", "1"))
	for id, want := range map[string]string{"1": "{\n  \"n\": [\n    1\n  ]\n}\n", "2": `"two\nlines"` + "\n", "3": "done\n"} {
		if out := c.ok("wait", id); out != want {
			t.Errorf("wait %s prints %q, want %q", id, out, want)
		}
	}
	if a := c.run("wait", "4"); a.code != exitFailure || a.out != "failed\n" || !strings.Contains(a.err, "job 4 failed") || !strings.Contains(a.err, "broken") {
		t.Errorf("wait for a failed job: %+v", a)
	}
	c.ok("cancel", c.enqueue("k"))
	c.fails(exitFailure, []string{"job 5 was cancelled"}, "wait", "5", "--json")
	c.enqueue("k")
	c.fails(exitFailure, []string{"job 6 has not ended after 20ms: it is pending"}, "wait", "6", "--timeout", "20ms")
	c.fails(exitFailure, []string{"job 99", "no such job"}, "wait", "99")
}

// A context that has ended stands for a signal that arrives early.
func aStoppedCommandSaysWhy(t *testing.T, c *cli) {
	id := c.enqueue("k")
	for _, args := range [][]string{{"list"}, {"wait", id}, {"enqueue", "k"}, {"retry", "--failed"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&interruptedError{os.Interrupt})
		var out, errs strings.Builder
		code := run(ctx, args, strings.NewReader(""), &out, &errs, []string{"SQLUICE_DB=" + c.db})
		if code != exitFailure || strings.Count(errs.String(), "stopped by signal: interrupt") != 1 {
			t.Errorf("%q: exit code %d, standard error %q", args, code, errs.String())
		}
	}
	if list := get[[]jobs.Job](c, "list"); len(list) != 1 {
		t.Errorf("there are %d jobs, want 1", len(list))
	}
}

func queues(t *testing.T, c *cli) {
	id := c.enqueue("k", "--queue", "slow")
	for _, want := range []string{"queue slow: paused\n", "queue slow: no change, as it is paused for at least as long\n"} {
		if out := c.ok("queues", "pause", "slow"); out != want {
			t.Errorf("pause prints %q, want %q", out, want)
		}
	}
	queues := get[[]inspect.QueueInfo](c, "queues")
	if len(queues) != 1 || queues[0].Name != "slow" || queues[0].Pending != 1 || queues[0].PausedAt.IsZero() {
		t.Errorf("the queues are %+v", queues)
	}
	if out := c.ok("queues"); !strings.Contains(out, "paused") {
		t.Errorf("the queues are\n%s", out)
	}
	drain := []string{"work", "--drain", "--queue", "slow=1", "--exec", execFlag(t, "k", "echo")}
	c.ok(drain...)
	if status := c.show(id).Status; status != jobs.StatusPending {
		t.Errorf("the job of a paused queue is %s", status)
	}
	c.ok("queues", "resume", "slow")
	c.ok(drain...)
	if status := c.show(id).Status; status != jobs.StatusDone {
		t.Errorf("the job of a resumed queue is %s", status)
	}
	c.fails(exitUsage, []string{"NAME", "control"}, "queues", "pause", "a\x1bb")

	id = c.enqueue("k", "--queue", "slow")
	for _, want := range []string{"kind k of queue slow: paused\n", "kind k of queue slow: no change, as it is paused for at least as long\n"} {
		if out := c.ok("queues", "pause", "slow", "--kind", "k"); out != want {
			t.Errorf("pause of a kind prints %q, want %q", out, want)
		}
	}
	c.fails(exitUsage, []string{"--reason", "1000 characters"}, "queues", "pause", "slow", "--reason", strings.Repeat("r", 1001))
	c.ok("queues", "resume", "slow", "--kind", "k")
	c.ok("queues", "pause", "slow", "--kind", "k", "--for", "2h", "--reason", "the disk is full")
	if out := c.ok("queues"); !strings.Contains(out, "PAUSED KIND  QUEUE") || !strings.Contains(out, ", ends in ") || !strings.Contains(out, ", by cli:") || !strings.Contains(out, ": the disk is full\n") || strings.Contains(out, "paused ") {
		t.Errorf("the queues are\n%s", out)
	}
	if list := get[[]inspect.QueueInfo](c, "queues"); len(list) != 1 || len(list[0].PausedKinds) != 1 || list[0].PausedKinds[0].Until.IsZero() {
		t.Errorf("the queues are %+v", list)
	}
	if out := c.ok("why", fmt.Sprint(id)); !strings.Contains(out, `its kind "k" is paused in queue "slow" since `) {
		t.Errorf("why says\n%s", out)
	}
	c.ok(drain...)
	if status := c.show(id).Status; status != jobs.StatusPending {
		t.Errorf("the job of a paused kind is %s", status)
	}
	if out := c.ok("queues", "resume", "slow", "--kind", "k"); out != "kind k of queue slow: resumed\n" {
		t.Errorf("resume prints %q", out)
	}
	c.ok(drain...)
	if status := c.show(id).Status; status != jobs.StatusDone {
		t.Errorf("the job of a resumed kind is %s", status)
	}
	c.fails(exitUsage, []string{"--kind", "control"}, "queues", "resume", "slow", "--kind", "a\x1bb")
}
