package postgres

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

var endsTests = []engineTest{
	{"ToldWhileAProcessWaits", testEndsAreToldWhileAProcessWaits},
	{"ToldToAnEarlierWaiter", testEndsAreToldToAnEarlierWaiter},
	{"ToldWithoutAListeningConnection", testEndsAreToldWithoutAListeningConnection},
	{"ToldAtTheEnd", testEndsAreToldAtTheEnd},
	{"ToldToARepeatedWaiter", testEndsAreToldToARepeatedWaiter},
	{"WaitingProcessAnnouncesIt", testWaitingProcessAnnouncesIt},
	{"ListeningProcessAsks", testListeningProcessAsks},
	{"WorkIsToldWithoutEnds", testWorkIsToldWithoutEnds},
}

// saysEach sets how often a store announces that it waits.
func saysEach(d time.Duration) Option { return func(o *options) { o.waitsEvery = d } }

// A process that cannot hear of waiting processes announces all ended jobs. A process that can announces them while another one
// waits, and announces once what it had left out.
func TestEnds(t *testing.T) {
	now := time.Now()
	var e ends
	want(t, "told without hearing", e.tell(now), true)
	want(t, "owing after that", e.heard(now), false)
	for _, c := range []struct {
		waits, silent bool
		says          string
	}{{false, false, "asks"}, {true, false, "waits+asks"}, {true, true, "waits"}, {false, true, ""}} {
		want(t, "what is said first", e.begin(c.waits, c.silent), c.says)
	}
	want(t, "owing before any end", e.heard(now), false)
	want(t, "told when two messages were lost", e.tell(now.Add(3*waitsEvery)), true)
	want(t, "told until the time is over", e.tell(now.Add(heardFor-1)), true)
	want(t, "owing what was told", e.heard(now), false)
	want(t, "told after it", e.tell(now.Add(heardFor)), false)
	want(t, "owing what was not told", e.heard(now.Add(heardFor)), true)
	want(t, "owing it once more", e.owing(), false)
	want(t, "told from then on", e.tell(now.Add(heardFor+1)), true)
}

// One answers who asks, and one answer is for all who asked before it.
func TestOneAnswerIsEnough(t *testing.T) {
	var e ends
	want(t, "whoever does not wait answers", e.ask(false), false)
	e = ends{}
	want(t, "whoever waits answers", e.ask(true), true)
	want(t, "it begins again for a second one", e.ask(true), false)
	want(t, "it is needed", e.answer(true), true)
	want(t, "it begins for a later one", e.ask(true), true)
	e.heard(time.Now())
	want(t, "it is needed after another's answer", e.answer(true), false)
	e.ask(true)
	e.heard(time.Now())
	e.ask(true)
	want(t, "it is needed for one who asked after that", e.answer(true), true)
	e.ask(true)
	want(t, "it is needed when no process waits any more", e.answer(false), false)
}

// endsTold counts the notifications that tell of ends.
func endsTold(notifications []string) int {
	n := 0
	for _, text := range notifications {
		if parts := strings.SplitN(text, "/", 3); parts[1] == "2" || parts[1] == "3" { // JobEnded, WorkReady|JobEnded
			n++
		}
	}
	return n
}

// untilWord waits for a notification that says a word.
func untilWord(t *testing.T, notifications func() []string, word string) {
	t.Helper()
	eventually(t, "somebody says "+word, func() bool {
		return slices.ContainsFunc(notifications(), func(text string) bool { return wordOf(text) == word })
	})
}

// listening waits until a store hears of notifications.
func listening(t *testing.T, store *Store, signals jobs.Signal) (stop func()) {
	t.Helper()
	wake, stop := store.Listen(signals, nil)
	receive(t, "the wake when listening has begun", wake)
	return stop
}

// announced waits until a store has told what it was to tell.
func announced(t *testing.T, store *Store, signals jobs.Signal) {
	t.Helper()
	store.Announce(signals)
	eventually(t, "all is told", func() bool {
		store.hub.mu.Lock()
		defer store.hub.mu.Unlock()
		return !store.hub.ringing && store.hub.pending == 0
	})
}

// A worker announces no ended jobs while no process waits. When a process begins to wait, the worker announces once those that
// the process may have missed, and then the ones to come.
func testEndsAreToldWhileAProcessWaits(t *testing.T, site *site) {
	worker, client, url := site.queue(t, WithPoll(time.Minute))
	notifications := listen(t, url, "sqluice")
	defer listening(t, worker, jobs.WorkReady)()
	for range 3 {
		enqueue(t, client, "k")
		drain(t, client, jobs.Config{}, handlers{"k": nothing})
	}
	want(t, "ends told while no process waits", endsTold(notifications()), 0)

	other, _ := open(t, url, WithPoll(time.Minute), saysEach(time.Hour))
	wake, stop := other.Listen(jobs.JobEnded, nil)
	defer stop()
	told := 0
	eventually(t, "what ended before is told", func() bool {
		told += endsTold(notifications())
		return told > 0
	})
	receive(t, "a wake", wake)
	want(t, "ends told of what ended before", told, 1)

	enqueue(t, client, "k")
	drain(t, client, jobs.Config{}, handlers{"k": nothing})
	eventually(t, "an end is told", func() bool { return endsTold(notifications()) > 0 })
	receive(t, "the wake by it", wake)
}

// A worker that begins to listen learns which processes wait, although they announced it before.
func testEndsAreToldToAnEarlierWaiter(t *testing.T, site *site) {
	other, client, url := site.queue(t, WithPoll(time.Minute), saysEach(time.Hour))
	notifications := listen(t, url, "sqluice")
	defer listening(t, other, jobs.JobEnded)()
	id := enqueue(t, client, "k")

	worker, own := open(t, url, WithPoll(time.Minute))
	defer listening(t, worker, jobs.WorkReady)()
	drain(t, own, jobs.Config{}, handlers{"k": nothing})
	want(t, "status", get(t, client, id).Status, jobs.StatusDone)
	eventually(t, "the end is told", func() bool { return endsTold(notifications()) > 0 })
}

// A process that waits for one job after another announces that seldom; a worker that asks between two waits is answered all the
// same.
func testEndsAreToldToARepeatedWaiter(t *testing.T, site *site) {
	other, _, url := site.queue(t, WithPoll(time.Minute), saysEach(time.Hour))
	notifications := listenToAll(t, url, "sqluice")
	leave := listening(t, other, jobs.JobEnded)
	untilWord(t, notifications, saysBoth)
	leave()

	worker, own := open(t, url, WithPoll(time.Minute))
	defer listening(t, worker, jobs.WorkReady)()
	untilWord(t, notifications, saysAsks)
	eventually(t, "the worker has heard of it", func() bool {
		worker.hub.mu.Lock()
		defer worker.hub.mu.Unlock()
		return time.Now().Before(worker.hub.ends.until)
	})
	wake, stop := other.Listen(jobs.JobEnded, nil)
	defer stop()
	enqueue(t, own, "k")
	drain(t, own, jobs.Config{}, handlers{"k": nothing})
	receive(t, "the wake by its end", wake)
}

// A process that does not listen cannot know which processes wait, so it announces all ended jobs; when its listening connection is
// lost, it also announces those that it had left out.
func testEndsAreToldWithoutAListeningConnection(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	notifications := listen(t, url, "sqluice")
	_, err := client.Cancel(t.Context(), enqueue(t, client, "k"))
	must(t, err)
	eventually(t, "the end is told", func() bool { return endsTold(notifications()) > 0 })

	p := newProxy(t, url)
	worker, _ := open(t, url, WithPoll(time.Minute), WithSession(p.url(url)))
	defer listening(t, worker, jobs.WorkReady)()
	announced(t, worker, jobs.JobEnded)
	want(t, "ends told while no process waits", endsTold(notifications()), 0)
	p.leave()
	eventually(t, "what was not told is", func() bool { return endsTold(notifications()) > 0 })
	worker.Announce(jobs.JobEnded)
	eventually(t, "what ends now is told", func() bool { return endsTold(notifications()) > 0 })
	p.comeBack()
}

// A process that closes announces the ended jobs that it had left out: another process may just have begun to wait.
func testEndsAreToldAtTheEnd(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	notifications := listen(t, url, "sqluice")
	worker, err := Open(t.Context(), url, WithLogger(slog.New(slog.DiscardHandler)))
	must(t, err)
	listening(t, worker, jobs.WorkReady)()
	announced(t, worker, jobs.JobEnded)
	want(t, "ends told while no process waits", endsTold(notifications()), 0)
	must(t, worker.Close())
	want(t, "ends told at the end", endsTold(notifications()), 1)
}

// A process that waits announces it at once and repeatedly while a listener waits, and again when one waits later. A process
// that listens for work only does not.
func testWaitingProcessAnnouncesIt(t *testing.T, site *site) {
	for name, opts := range map[string][]Option{"": nil, "without notifications": {WithoutNotify()}} {
		t.Run(name, func(t *testing.T) {
			_, client, url := site.queue(t)
			notifications := listenToAll(t, url, "sqluice")
			store, _ := open(t, url, append(opts, saysEach(time.Millisecond))...)
			saying := func() bool {
				store.hub.mu.Lock()
				defer store.hub.mu.Unlock()
				return store.hub.saying
			}
			defer listening(t, store, jobs.WorkReady)()
			want(t, "whether it says that it waits for ends", saying(), false)
			for range 2 {
				stop := listening(t, store, jobs.JobEnded)
				for range 3 {
					untilWord(t, notifications, saysWaits)
				}
				stop()
				eventually(t, "it is to say so no more", func() bool { return !saying() })
				notifications()
				enqueue(t, client, "k") // which takes longer than it would wait
				if said := notifications(); slices.ContainsFunc(said, func(text string) bool { return wordOf(text) == saysWaits }) {
					t.Errorf("it says so all the same: %q", said)
				}
			}
		})
	}
	_, _, url := site.queue(t)
	notifications := listenToAll(t, url, "sqluice")
	store, _ := open(t, url, saysEach(time.Hour))
	defer listening(t, store, jobs.WorkReady)()
	_, stop := store.Listen(jobs.JobEnded, nil)
	defer stop()
	untilWord(t, notifications, saysWaits) // and not after an hour
}

// A process that begins to listen asks which processes wait, once it can hear the answer, and announces that it waits itself.
// With notifications off it announces no ended jobs, so it does not ask.
func testListeningProcessAsks(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	notifications := listenToAll(t, url, "sqluice")
	for _, c := range []struct {
		signals jobs.Signal
		opts    []Option
		says    string
	}{
		{jobs.WorkReady, nil, saysAsks},
		{jobs.JobEnded, nil, saysBoth},
		{jobs.JobEnded, []Option{WithoutNotify()}, saysWaits},
	} {
		p := newProxy(t, url)
		quiet := WithLogger(slog.New(slog.DiscardHandler))
		store, err := Open(t.Context(), url, append(c.opts, saysEach(time.Hour), WithPoll(time.Minute), WithSession(p.url(url)), quiet)...)
		must(t, err)
		wake, stop := store.Listen(c.signals, nil)
		receive(t, "the wake when listening has begun", wake)
		if c.signals == jobs.JobEnded {
			eventually(t, "it has said that it waits", func() bool { return len(notifications()) > 0 })
		}
		p.leave()
		p.comeBack()
		receive(t, "the wake when it listens again", wake)
		untilWord(t, notifications, c.says)
		stop()
		must(t, store.Close())
	}
}

// Work that is announced together with ended jobs is announced even when no process waits.
func testWorkIsToldWithoutEnds(t *testing.T, site *site) {
	store, _, url := site.queue(t)
	notifications := listen(t, url, "sqluice")
	defer listening(t, store, jobs.WorkReady)()
	store.Announce(jobs.WorkReady | jobs.JobEnded)
	var all []string
	eventually(t, "the work is told", func() bool {
		all = append(all, notifications()...)
		return len(all) > 0
	})
	if len(all) != 1 || !strings.HasSuffix(all[0], "/1/") {
		t.Errorf("%q was told", all)
	}
}
