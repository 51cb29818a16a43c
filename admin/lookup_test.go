package admin_test

import (
	"net/http"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
)

// A job can be found by the keys that the application knows it by.
func TestLookUpsByTheAPI(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"), jobs.Unique("u/1"), jobs.RequestID("r 1"))
		must(t, err)
		_, err = client.Enqueue(t.Context(), "l", []byte("{}"), jobs.Unique("u/1"))
		must(t, err)
		for query, ids := range map[string][]int64{
			"?kind=k&unique_key=u%2F1": {1}, "?kind=l&unique_key=u%2F1": {2}, "?kind=k&request_id=r%201": {1},
			"?kind=l&request_id=r%201": {}, "?kind=k&unique_key=u": {},
		} {
			list := get[struct{ Jobs []detail }](a, http.MethodGet, "/jobs"+query, "").Jobs
			if len(list) != len(ids) || len(ids) > 0 && list[0].ID != ids[0] {
				t.Errorf("%s finds %+v", query, list)
			}
		}
		for _, query := range []string{"?unique_key=u", "?kind=k&unique_key=", "?kind=k&request_id=", "?kind=k&unique_key=u&request_id=r", "?kind=k&unique_key=u&limit=3", "?kind=k&request_id=r&status=done"} {
			a.refused(http.StatusBadRequest, http.MethodGet, "/jobs"+query, "")
		}
	})
}
