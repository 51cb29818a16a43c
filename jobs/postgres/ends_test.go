package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

var endsTests = []engineTest{
	{"ToldWhileSomebodyWaits", testEndsAreToldWhileSomebodyWaits},
	{"ToldToWhoWaitedBefore", testEndsAreToldToWhoWaitedBefore},
	{"ToldByWhoDoesNotListen", testEndsAreToldByWhoDoesNotListen},
}

// Whoever does not hear who waits tells of all that ends; whoever does, while somebody waits, and once of what it kept to itself
// before it heard of that one.
func TestEnds(t *testing.T) {
	now := time.Now()
	var e ends
	want(t, "told without hearing", e.tell(now), true)
	want(t, "owing after that", e.heard(now), false)
	e = ends{hears: true}
	want(t, "owing before any end", e.heard(now), false)
	want(t, "told until the time is over", e.tell(now.Add(heardFor-1)), true)
	want(t, "owing what was told", e.heard(now), false)
	want(t, "told after it", e.tell(now.Add(heardFor)), false)
	want(t, "owing what was not told", e.heard(now.Add(heardFor)), true)
	want(t, "owing it once more", e.heard(now.Add(heardFor)), false)
	want(t, "told from then on", e.tell(now.Add(heardFor+1)), true)
	want(t, "how often a message may be lost", int(heardFor/waitsEvery), 2)
}

// endsTold counts the notifications that tell of ends.
func endsTold(notifications []string) int {
	n := 0
	for _, text := range notifications {
		parts := strings.SplitN(text, "/", 3)
		if parts[1] == "2" || parts[1] == "3" { // JobEnded, WorkReady|JobEnded
			n++
		}
	}
	return n
}

// listening waits until a store hears of notifications.
func listening(t *testing.T, store *Store, signals jobs.Signal) (stop func()) {
	t.Helper()
	wake, stop := store.Listen(signals, nil)
	receive(t, "the wake when listening has begun", wake)
	return stop
}

// A worker tells nobody of ends while nobody waits; when somebody begins to, of those that one may have missed, and of those to
// come.
func testEndsAreToldWhileSomebodyWaits(t *testing.T, site *site) {
	worker, client, url := site.queue(t, WithPoll(time.Minute))
	notifications := listen(t, url, "sqluice")
	defer listening(t, worker, jobs.WorkReady)()
	for range 3 {
		enqueue(t, client, "k")
		drain(t, client, jobs.Config{}, handlers{"k": nothing})
	}
	want(t, "ends told while nobody waits", endsTold(notifications()), 0)

	other, _ := open(t, url, WithPoll(time.Minute))
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

// A worker that begins to listen hears of those who wait already.
func testEndsAreToldToWhoWaitedBefore(t *testing.T, site *site) {
	other, client, url := site.queue(t, WithPoll(time.Minute))
	notifications := listen(t, url, "sqluice")
	defer listening(t, other, jobs.JobEnded)()
	id := enqueue(t, client, "k")

	worker, own := open(t, url, WithPoll(time.Minute))
	defer listening(t, worker, jobs.WorkReady)()
	drain(t, own, jobs.Config{}, handlers{"k": nothing})
	want(t, "status", get(t, client, id).Status, jobs.StatusDone)
	eventually(t, "the end is told", func() bool { return endsTold(notifications()) > 0 })
}

// A process that does not listen cannot know who waits.
func testEndsAreToldByWhoDoesNotListen(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	notifications := listen(t, url, "sqluice")
	_, err := client.Cancel(t.Context(), enqueue(t, client, "k"))
	must(t, err)
	var all []string
	eventually(t, "the end is told", func() bool {
		all = append(all, notifications()...)
		return endsTold(all) > 0
	})
	want(t, "whether its enqueue is told first", strings.HasSuffix(all[0], "/1/default"), true)
}
