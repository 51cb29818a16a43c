package top

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"pgregory.net/rapid"
)

func TestAsksBeforeItChangesAQueue(t *testing.T) {
	w := newWatcher(t, false)
	w.types("p")
	w.wants("no queue is chosen")
	w.sees(exampleFrame(), nil)
	w.types("p")
	w.wants(`pause queue "default"? y/n`)
	w.types("n")
	w.wants("nothing is changed")
	w.types("p", "esc", "p", "q", "r", "enter")
	if len(w.changes) > 0 || w.quits {
		t.Fatalf("without a yes it did %v, quits %t", w.changes, w.quits)
	}

	w.types("down", "tab", "tab", "p")
	// The rows may move while the user reads the question.
	moved := exampleFrame()
	moved.Queues = slices.Insert(moved.Queues, 0, Queue{QueueInfo: inspect.QueueInfo{Name: "a"}})
	moved.Queues = slices.DeleteFunc(moved.Queues, func(q Queue) bool { return q.Name == "slow" })
	w.next(moved, nil)
	w.wants(`pause queue "slow"? y/n`)
	w.types("y")
	w.wants("queue slow is paused")
	w.types("r", "y")
	w.wants("queue a is resumed") // the selected queue is gone
	w.fails = errors.New("permission \x1bdenied")
	w.types("r", "Y")
	w.wants(`queue a: permission \x1bdenied`)
	want := "[{slow true} {a false} {a false}]"
	var got []any
	for _, c := range w.changes {
		got = append(got, struct {
			string
			bool
		}{c.queue, c.pause})
	}
	if fmt.Sprint(got) != want {
		t.Errorf("the changes are %v, want %s", got, want)
	}

	same := queueChanged{queue: "q", pause: true}
	if same.text() != "queue q is paused already" || (queueChanged{queue: "q"}).text() != "queue q is not paused" {
		t.Errorf("an unchanged state is reported as %q", same.text())
	}
}

func TestReadOnlyRefusesChanges(t *testing.T) {
	w := newWatcher(t, true)
	w.sees(exampleFrame(), nil)
	w.lacks("p pause")
	for _, key := range []string{"p", "r"} {
		w.types(key)
		w.wants("refused: --read-only")
		w.types("y")
	}
	if len(w.changes) > 0 {
		t.Errorf("it did %v", w.changes)
	}
}

func TestChoosesInACircle(t *testing.T) {
	w := newWatcher(t, false)
	w.sees(exampleFrame(), nil)
	names := []string{"default", "mail\x1b[2J\u202e", "reports", "slow", "日本語のとても長いキューの名前"}
	for i, key := range []string{"down", "j", "tab", "down", "down", "up", "k", "shift+tab"} {
		w.types(key)
		want := names[[]int{1, 2, 3, 4, 0, 4, 3, 2}[i]]
		if w.model.chosen != want {
			t.Fatalf("after %d keys %q is chosen, want %q", i+1, w.model.chosen, want)
		}
	}
	w.next(Frame{At: noon}, nil)
	w.types("down")
	if w.model.chosen != "" {
		t.Errorf("of no queues %q is chosen", w.model.chosen)
	}
}

func TestFilter(t *testing.T) {
	w := newWatcher(t, false)
	w.send(tea.WindowSizeMsg{Width: 100, Height: 30})
	w.sees(exampleFrame(), nil)
	w.types("/", "slq")
	w.wants("/slq_", "no queues with")
	w.types("backspace", "ow日", "backspace")
	w.wants("/slow_", "> slow", "api-1", "no failed jobs with") // the worker takes the queue
	w.lacks("mailer", "reports", "resize")
	w.types("enter", "p")
	w.wants(`pause queue "slow"?`)
	w.types("n", "/", "er", "esc")
	w.wants("/slow  esc all")
	w.types("esc")
	w.wants("reports", "mailer", "resize")
	w.types("/")
	w.send(tea.PasteMsg{Content: " send-\x1b[2Jmail\n"})
	w.wants(`/send-\x1b[2Jmail_`)
	w.types("ctrl+u", strings.Repeat("x", 300), "enter")
	if len(w.model.filter) != 200 {
		t.Errorf("the filter has %d characters", len(w.model.filter))
	}
	w.types("/", "ctrl+c")
	if !w.quits {
		t.Error("ctrl+c does not quit while a filter is typed")
	}
}

func TestOtherKeys(t *testing.T) {
	for _, keys := range [][]string{{"q"}, {"ctrl+c"}, {"?", "q"}, {"p", "ctrl+c"}} {
		w := newWatcher(t, false)
		w.sees(exampleFrame(), nil)
		w.types(keys...)
		if !w.quits {
			t.Errorf("%q do not quit", keys)
		}
	}
	w := newWatcher(t, false)
	w.types("?")
	w.wants("sqluice top: keys")
	w.types("p")
	w.lacks("sqluice top: keys")
	w.types("ctrl+l", "ctrl+z")
	if want := []tea.Msg{tea.ClearScreen(), tea.Suspend()}; fmt.Sprintf("%T", w.others) != fmt.Sprintf("%T", want) || !slices.Equal(w.others, want) {
		t.Errorf("the terminal is asked for %#v", w.others)
	}
	w.send(tea.WindowSizeMsg{}) // a terminal may not know its size
	if w.model.width != 80 || w.model.height != 24 {
		t.Errorf("the view is %d x %d", w.model.width, w.model.height)
	}
}

func TestGoesOnWhenTheDatabaseIsBack(t *testing.T) {
	w := newWatcher(t, false)
	away := errors.New("no such host")
	w.sees(Frame{}, away)
	w.wants("no answer since 12:00:00: no such host")
	w.next(Frame{}, away)
	w.wants("no answer since 12:00:00")
	w.next(exampleFrame(), nil)
	w.wants("default")
	w.lacks("no answer")
	w.next(Frame{}, away)
	w.wants("no answer since 12:00:03", "default", "resize") // the last frame stays

	// A slow read is shown before it fails.
	w.next(exampleFrame(), nil)
	w.fires(readDue{})
	w.lacks("no answer")
	for range 5 {
		w.clock = w.clock.Add(time.Second)
		w.fires(secondPassed{})
	}
	w.wants("no answer for 5s")
	w.sees(exampleFrame(), nil)
	w.lacks("no answer")
}

func TestNeverLooksTwiceAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &watcher{t: t, clock: noon}
		w.open(false)
		t.Repeat(map[string]func(*rapid.T){
			"read ends": func(t *rapid.T) {
				if w.reads == 0 {
					t.Skip("no read is running")
				}
				if rapid.Bool().Draw(t, "well") {
					w.sees(exampleFrame(), nil)
				} else {
					w.sees(Frame{}, errors.New("away"))
				}
			},
			"timer": func(t *rapid.T) {
				if len(w.timers) == 0 {
					t.Skip("there is none")
				}
				w.clock = w.clock.Add(time.Second)
				w.fires(rapid.SampledFrom(w.timers).Draw(t, "timer"))
			},
			"key": func(t *rapid.T) {
				w.types(rapid.SampledFrom([]string{"p", "r", "y", "n", "/", "?", "esc", "down", "enter", "ctrl+l", "q"}).Draw(t, "key"))
			},
			"resize": func(t *rapid.T) {
				w.send(tea.WindowSizeMsg{Width: rapid.IntRange(1, 200).Draw(t, "width"), Height: 24})
			},
			"": func(t *rapid.T) {
				if w.reads > 1 {
					t.Fatalf("%d reads are running", w.reads)
				}
				if w.reads == 0 && !slices.Contains(w.timers, tea.Msg(readDue{})) {
					t.Fatalf("no read is running and no timer for one")
				}
				if !slices.Contains(w.timers, tea.Msg(secondPassed{})) {
					t.Fatalf("no timer redraws the clock")
				}
			},
		})
	})
}

func TestRates(t *testing.T) {
	var rates rates
	if _, _, _, known := rates.perSecond(); known {
		t.Error("rates are known before there were two frames")
	}
	frame := exampleFrame()
	step := func(seconds, in, done, failed int64) {
		next := later(frame, seconds, in, done, failed)
		rates.add(frame, next)
		frame = next
	}
	check := func(in, done, failed float64) {
		t.Helper()
		if a, b, c, known := rates.perSecond(); !known || a != in || b != done || c != failed {
			t.Errorf("the rates are %v, %v, %v, %t, want %v, %v, %v", a, b, c, known, in, done, failed)
		}
	}
	step(2, 10, 6, 2)
	check(5, 3, 1)
	for range 5 {
		step(2, 0, 0, 0)
	}
	check(0, 0, 0) // the jobs ended more than ten seconds ago
	step(0, 50, 10, 0)
	check(0, 0, 0) // the clock stood still
	// Jobs that are deleted, and minutes that leave the hour, change nothing.
	pruned := later(frame, 1, 0, 0, 0)
	pruned.Jobs[jobs.StatusDone] -= 3
	pruned.History.Intervals = pruned.History.Intervals[1:]
	rates.add(frame, pruned)
	check(0, 0, 0)
	frame = pruned
	next := later(frame, 9, 0, 0, 0)
	next.History.Intervals = append(next.History.Intervals, inspect.Interval{Start: next.At, Done: 20, Cancelled: 10})
	rates.add(frame, next)
	check(3, 2, 0) // a new minute begins
}

// The last minute ends now, not at a full minute: a job that ended 70 seconds ago does not count, one of this second does.
func TestLastMinuteSlides(t *testing.T) {
	var rates rates
	frame := exampleFrame()
	frame.History.Intervals = []inspect.Interval{
		{Start: noon.Add(-time.Minute), Done: 60, Failed: 1}, {Start: noon, Done: 3, Failed: 0},
	}
	frame.At = noon.Add(30 * time.Second)
	check := func(done, failed int64) {
		t.Helper()
		if a, b := rates.lastMinute(frame); a != done || b != failed {
			t.Errorf("at %s the last minute has %d done and %d failed, want %d and %d", frame.At.Format(time.TimeOnly), a, b, done, failed)
		}
	}
	check(33, 1) // the estimate from one frame: half of the interval before
	for second := range 200 {
		var done, failed int64
		switch second {
		case 10:
			done = 7
		case 75:
			done, failed = 2, 1
		}
		next := later(frame, 1, 0, done, failed)
		rates.add(frame, next)
		frame = next
		switch {
		case second >= 60 && second <= 69:
			check(7, 0)
		case second == 71, second == 74, second >= 136:
			check(0, 0)
		case second >= 75 && second <= 134:
			check(2, 1)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 99_999: "99999", 100_000: "100k", 123_456: "123k", 9_999_499: "9999k", 9_999_500: "10.0M",
		12_345_678: "12.3M", 123_456_789: "123M", 9_999_999_999: "10.0G", 1 << 62: "4611686T",
	} {
		if got := short(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0.0ms", 700 * time.Microsecond: "0.7ms", 12 * time.Millisecond: "12ms", 1500 * time.Millisecond: "1.5s", 90 * time.Second: "1m", 90 * time.Minute: "1h",
	} {
		if got := brief(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
	for rate, want := range map[float64]string{0: "0.0/s", 0.06: "0.1/s", 9.94: "9.9/s", 9.96: "10/s", 123_456: "123k/s"} {
		if got := perSecond(rate); got != want {
			t.Errorf("%v is %q, want %q", rate, got, want)
		}
	}
}
