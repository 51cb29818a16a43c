package top

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/sqluice/sqluice/internal/printable"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite testdata")

// watcher drives the model without a terminal: it fires timers on demand and records the calls of effects.
type watcher struct {
	t interface {
		Helper()
		Errorf(string, ...any)
		Fatalf(string, ...any)
	}
	model   *model
	clock   time.Time
	timers  []tea.Msg
	reads   int // the number of running reads
	changes []queueChanged
	fails   error // the error of changes
	quits   bool
	others  []tea.Msg // messages that commands returned for the terminal
}

func newWatcher(t *testing.T, readOnly bool) *watcher {
	w := &watcher{t: t, clock: noon}
	w.open(readOnly)
	return w
}

func (w *watcher) open(readOnly bool) {
	w.model = newModel("jobs.db", time.Second, readOnly, operations{
		read: func() (Frame, error) { w.reads++; return Frame{}, nil },
		change: func(queue string, pause bool) (bool, error) {
			w.changes = append(w.changes, queueChanged{queue: queue, pause: pause})
			return true, w.fails
		},
	})
	w.model.now = func() time.Time { return w.clock }
	w.model.after = func(_ time.Duration, msg tea.Msg) tea.Cmd {
		return func() tea.Msg {
			w.timers = append(w.timers, msg)
			return nil
		}
	}
	w.do(w.model.Init())
}

func (w *watcher) do(command tea.Cmd) {
	if command == nil {
		return
	}
	switch msg := command().(type) {
	case nil:
	case tea.BatchMsg:
		for _, one := range msg {
			w.do(one)
		}
	case frameRead: // sees sends it
	case queueChanged:
		w.send(msg)
	case tea.QuitMsg:
		w.quits = true
	default:
		w.others = append(w.others, msg)
	}
}

func (w *watcher) send(msg tea.Msg) {
	_, command := w.model.Update(msg)
	w.do(command)
}

// sees ends the running read.
func (w *watcher) sees(frame Frame, err error) {
	w.t.Helper()
	if w.reads == 0 {
		w.t.Fatalf("no read is running")
	}
	w.reads--
	w.send(frameRead{frame, err})
}

// fires fires a timer.
func (w *watcher) fires(msg tea.Msg) {
	w.t.Helper()
	i := slices.Index(w.timers, msg)
	if i < 0 {
		w.t.Fatalf("there is no timer for %T", msg)
	}
	w.timers = slices.Delete(w.timers, i, i+1)
	w.send(msg)
}

// next ends the next read, which starts a second later.
func (w *watcher) next(frame Frame, err error) {
	w.t.Helper()
	w.clock = w.clock.Add(time.Second)
	w.fires(readDue{})
	w.sees(frame, err)
}

// types presses a key by its name, such as "esc", and otherwise the key of each character.
func (w *watcher) types(keys ...string) {
	named := map[string]tea.Key{
		"esc": {Code: tea.KeyEscape}, "enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp},
		"down": {Code: tea.KeyDown}, "backspace": {Code: tea.KeyBackspace}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+l": {Code: 'l', Mod: tea.ModCtrl}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl},
		"ctrl+u": {Code: 'u', Mod: tea.ModCtrl},
	}
	for _, text := range keys {
		if key, ok := named[text]; ok {
			w.send(tea.KeyPressMsg(key))
			continue
		}
		for _, r := range text {
			w.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

func (w *watcher) screen() string { return ansi.Strip(w.model.View().Content) }

func (w *watcher) wants(texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		if !strings.Contains(w.screen(), text) {
			w.t.Errorf("the screen lacks %q:\n%s", text, w.screen())
		}
	}
}

func (w *watcher) lacks(texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		if strings.Contains(w.screen(), text) {
			w.t.Errorf("the screen has %q:\n%s", text, w.screen())
		}
	}
}

var noon = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// exampleFrame returns a frame with difficult content for views.
func exampleFrame() Frame {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	return Frame{
		At:     noon,
		Oldest: ago(3 * time.Minute),
		Jobs: map[jobs.Status]int64{
			jobs.StatusPending: 12, jobs.StatusRunning: 3, jobs.StatusFailed: 2, jobs.StatusScheduled: 7, jobs.StatusDone: 3_512_345,
			jobs.StatusCancelled: 1,
		},
		Queues: []Queue{
			{QueueInfo: inspect.QueueInfo{Name: "default", Pending: 5, Running: 3, Scheduled: 7, Slots: 50, PausedKinds: []inspect.KindPause{{Kind: "k"}}}, Failed: 1, Done: 3_512_000, Oldest: ago(3 * time.Minute)},
			{QueueInfo: inspect.QueueInfo{Name: "mail\x1b[2J\u202e", Pending: 4, Slots: 4}, Failed: 1, Done: 345, Oldest: ago(time.Second)},
			{QueueInfo: inspect.QueueInfo{Name: "reports", Pending: 2}, Oldest: ago(time.Minute)},
			{QueueInfo: inspect.QueueInfo{Name: "slow", Pending: 1, PausedAt: ago(2 * time.Hour), Slots: 4}, Oldest: ago(2 * time.Minute)},
			{QueueInfo: inspect.QueueInfo{Name: "日本語のとても長いキューの名前", Slots: 1}},
		},
		History: inspect.History{
			Intervals: []inspect.Interval{{Start: ago(2 * time.Minute), Done: 60}, {Start: ago(time.Minute), Done: 45, Failed: 1}, {Start: ago(0), Done: 3}},
			Total: inspect.Interval{
				Done: 3412, Failed: 2, Retried: 17, Crashed: 1,
				Wait: inspect.Latency{Jobs: 3414, P50: 700 * time.Microsecond, P90: 12 * time.Millisecond, P99: 1500 * time.Millisecond},
				Run:  inspect.Latency{Jobs: 3414, P50: 40 * time.Millisecond, P90: 12 * time.Second, P99: 90 * time.Minute},
			},
		},
		Workers: []inspect.WorkerInfo{
			{ID: 1, Name: "api-1", Host: "alpha", PID: 4711, Running: 2, Queues: map[string]int{"default": 50, "slow": 4},
				StartedAt: ago(26 * time.Hour), Heartbeat: ago(4 * time.Second)},
			{ID: 2, Name: "mailer", Host: "ホスト", PID: 7, Running: 1, Queues: map[string]int{"mail": 4}, StartedAt: ago(time.Minute), Heartbeat: ago(time.Minute)},
		},
		Failures: []jobs.Job{
			{ID: 3_000_000, Kind: "resize", Queue: "default", Attempt: 5, MaxAttempts: 5, FinishedAt: ago(5 * time.Second), LastError: "read 画像.png: \x1b[31munexpected EOF\nstack"},
			{ID: 12, Kind: "send-mail", Queue: "mail", Attempt: 1, MaxAttempts: 25, FinishedAt: ago(49 * time.Hour), LastError: "421 too many connections from your address, try again later"},
		},
	}
}

// later returns the frame that follows after some seconds and after jobs were added and ended.
func later(frame Frame, seconds, in, done, failed int64) Frame {
	frame.At = frame.At.Add(time.Duration(seconds) * time.Second)
	counts := map[jobs.Status]int64{}
	for status, n := range frame.Jobs {
		counts[status] = n
	}
	counts[jobs.StatusDone] += done
	counts[jobs.StatusFailed] += failed
	frame.History.Intervals = slices.Clone(frame.History.Intervals)
	last := &frame.History.Intervals[len(frame.History.Intervals)-1]
	last.Done += done
	last.Failed += failed
	counts[jobs.StatusPending] += in - done - failed
	frame.Jobs = counts
	return frame
}

func TestScreens(t *testing.T) {
	many := exampleFrame()
	for i := range 12 {
		many.Queues = append(many.Queues, Queue{QueueInfo: inspect.QueueInfo{Name: "tenant-" + string(rune('a'+i)), Pending: int64(i)}})
	}
	shows := func(frames ...Frame) func(*watcher) {
		return func(w *watcher) {
			w.sees(frames[0], nil)
			for _, frame := range frames[1:] {
				w.next(frame, nil)
			}
		}
	}
	usual := shows(exampleFrame(), later(exampleFrame(), 1, 120, 30, 1))
	for name, test := range map[string]struct {
		width, height int
		set           func(*watcher)
	}{
		"usual":      {80, 24, usual},
		"narrow":     {40, 15, usual},
		"wide":       {120, 30, usual},
		"tiny":       {12, 5, usual},
		"looking":    {80, 24, func(*watcher) {}},
		"empty":      {80, 24, shows(Frame{At: noon})},
		"many":       {80, 24, func(w *watcher) { shows(many)(w); w.types("jjjjjjjjj") }},
		"many-small": {40, 15, func(w *watcher) { shows(many)(w); w.types("up") }},
		"filtered":   {80, 24, func(w *watcher) { usual(w); w.types("/", "MAIL") }},
		"nothing":    {80, 24, func(w *watcher) { usual(w); w.types("/", "\x1bno such", "enter") }},
		"help":       {80, 24, func(w *watcher) { usual(w); w.types("?") }},
		"help-small": {40, 15, func(w *watcher) { usual(w); w.types("?") }},
		"asking":     {40, 15, func(w *watcher) { usual(w); w.types("jp") }},
		"away":       {80, 24, func(w *watcher) { usual(w); w.next(Frame{}, errors.New("dial tcp: connection \x07refused")) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatcher(t, false)
			w.send(tea.WindowSizeMsg{Width: test.width, Height: test.height})
			test.set(w)
			checkScreen(t, w.model, test.width, test.height)
			file := filepath.Join("testdata", name+".txt")
			got := w.screen() + "\n"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the screen is\n%s\nand %s has\n%s", got, file, want)
			}
		})
	}
}

// checkScreen checks that the screen fits, that it has no escapes but styles, and that styles do not change its text.
func checkScreen(t interface{ Errorf(string, ...any) }, m *model, width, height int) {
	content := m.View().Content
	lines := strings.Split(content, "\n")
	if len(lines) > height {
		t.Errorf("%d lines on a terminal of %d:\n%q", len(lines), height, lines)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > width {
			t.Errorf("a line is %d wide on a terminal of %d: %q", w, width, line)
		}
	}
	if strings.ContainsFunc(ansi.Strip(content), func(r rune) bool { return r != '\n' && printable.Harmful(r) }) {
		t.Errorf("control characters are left in %q", content)
	}
	for _, sequence := range escapes(content) {
		if !strings.HasSuffix(sequence, "m") {
			t.Errorf("an escape that is no style: %q", sequence)
		}
	}
	m.paint = unpainted
	if bare := m.View().Content; bare != ansi.Strip(content) {
		t.Errorf("without styles the view differs:\n%s\n%s", bare, ansi.Strip(content))
	}
	m.paint = newPainter()
}

// escapes returns the escape sequences of a text.
func escapes(text string) (list []string) {
	for state := byte(0); len(text) > 0; {
		sequence, _, n, next := ansi.DecodeSequence(text, state, nil)
		if strings.HasPrefix(sequence, "\x1b") {
			list = append(list, sequence)
		}
		text, state = text[n:], next
	}
	return list
}

// The view fits a terminal of any size and has no foreign escape sequences, for any content of the database.
func TestFitsEveryTerminal(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\x1b]0;x\x07", "a\u0301\u0301\u0301", "👩‍👩‍👧‍👦", "🇩🇪🇩", "\u202eabc", "ｗｉｄｅ", "\xff\xfe", "\t\r\n"}))
	number := rapid.Int64Range(0, 1<<62)
	moment := rapid.Map(rapid.Int64Range(-1<<40, 1<<40), func(n int64) time.Time { return time.Unix(n, 0).UTC() })
	rapid.Check(t, func(t *rapid.T) {
		frame := Frame{At: moment.Draw(t, "at"), Oldest: moment.Draw(t, "oldest"), Jobs: map[jobs.Status]int64{}}
		for _, status := range jobs.Statuses() {
			frame.Jobs[status] = number.Draw(t, "jobs")
		}
		for range rapid.IntRange(0, 30).Draw(t, "queues") {
			q := Queue{Failed: number.Draw(t, "failed"), Done: number.Draw(t, "done"), Oldest: moment.Draw(t, "oldest")}
			q.QueueInfo = inspect.QueueInfo{Name: text.Draw(t, "name"), Pending: number.Draw(t, "pending"), Slots: rapid.IntRange(0, 1000).Draw(t, "slots")}
			if rapid.Bool().Draw(t, "paused") {
				q.PausedAt = moment.Draw(t, "paused at")
			}
			frame.Queues = append(frame.Queues, q)
		}
		for range rapid.IntRange(0, 3).Draw(t, "minutes") {
			frame.History.Intervals = append(frame.History.Intervals, inspect.Interval{Done: number.Draw(t, "done"), Failed: number.Draw(t, "failed")})
		}
		frame.History.Total.Wait = inspect.Latency{Jobs: 1, P50: time.Duration(number.Draw(t, "wait"))}
		for range rapid.IntRange(0, 5).Draw(t, "workers") {
			frame.Workers = append(frame.Workers, inspect.WorkerInfo{
				Name: text.Draw(t, "name"), Host: text.Draw(t, "host"), Running: number.Draw(t, "running"),
				Queues: map[string]int{text.Draw(t, "queue"): 5}, Heartbeat: moment.Draw(t, "heartbeat"), StartedAt: moment.Draw(t, "started"),
			})
		}
		for range rapid.IntRange(0, 5).Draw(t, "failures") {
			frame.Failures = append(frame.Failures, jobs.Job{
				ID: number.Draw(t, "id"), Kind: text.Draw(t, "kind"), Queue: text.Draw(t, "queue"), LastError: text.Draw(t, "error"), FinishedAt: moment.Draw(t, "failed"),
			})
		}
		w := &watcher{t: t, clock: noon}
		w.open(false)
		width, height := rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height")
		w.send(tea.WindowSizeMsg{Width: width, Height: height})
		w.sees(frame, nil)
		w.types(rapid.SampledFrom([][]string{nil, {"?"}, {"p"}, {"jjr"}, {"/", text.Draw(t, "filter")}}).Draw(t, "keys")...)
		if rapid.Bool().Draw(t, "away") {
			w.next(Frame{}, errors.New(text.Draw(t, "trouble")))
		}
		checkScreen(t, w.model, width, height)
	})
}
