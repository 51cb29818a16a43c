package admin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A pause may be of one kind, and may end by itself.
func TestPausesByTheAPI(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		type kindPausing struct {
			Queue, Kind     string
			Paused, Changed bool
		}
		for _, step := range []struct {
			query string
			want  kindPausing
		}{
			{"pause?kind=a%2Fb&for_s=60", kindPausing{"q", "a/b", true, true}}, {"pause?kind=a%2Fb&for_s=30", kindPausing{"q", "a/b", true, false}},
			{"pause?kind=a%2Fb&for_s=600&reason=the+disk", kindPausing{"q", "a/b", true, true}}, {"resume", kindPausing{"q", "", false, false}},
			{"pause?for_s=600&reason=a+move", kindPausing{"q", "", true, true}},
		} {
			if got := get[kindPausing](a, http.MethodPost, "/queues/q/"+step.query, ""); got != step.want {
				t.Errorf("%s is answered with %+v, want %+v", step.query, got, step.want)
			}
		}
		q := get[struct{ Queues []inspect.QueueInfo }](a, http.MethodGet, "/queues?after=p", "").Queues[0]
		if q.PausedUntil.Sub(q.PausedAt).Round(time.Minute) != 10*time.Minute || q.PausedBy != "local" || len(q.PausedKinds) != 1 ||
			q.PauseReason != "a move" || q.PausedKinds[0].Reason != "the disk" || q.PausedKinds[0].Kind != "a/b" || q.PausedKinds[0].Until.IsZero() || q.PausedKinds[0].By != "local" {
			t.Errorf("the paused queue is %+v", q)
		}
		for _, path := range []string{"/queues/q/pause?kind=", "/queues/q/pause?for_s=0", "/queues/q/pause?reason=" + strings.Repeat("r", 1001), "/queues/q/resume?for_s=1", "/queues/q/pause?kind=a&kind=b", "/queues/q/resume?kind=" + strings.Repeat("k", 201)} {
			a.refused(http.StatusBadRequest, http.MethodPost, path, "")
		}
		for _, call := range [][2]string{
			{http.MethodPost, "/queues/q/pause?for_s=2147483648"}, {http.MethodPost, "/queues/q/pause?for_s=99999999999999999999"},
			{http.MethodPost, "/queues/q/pause?for_s=1.5"}, {http.MethodGet, "/history?step_s=4294967296"},
		} {
			if p := a.refused(http.StatusBadRequest, call[0], call[1], ""); !strings.Contains(p.Detail, "from 1 to 2147483647") {
				t.Errorf("%s is refused with %q", call[1], p.Detail)
			}
		}
		get[kindPausing](a, http.MethodPost, "/queues/q/resume?kind=a%2Fb", "")
		get[kindPausing](a, http.MethodPost, "/queues/q/resume", "")
	})
}
