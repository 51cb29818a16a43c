package admin_test

import (
	"net/http"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
)

func TestEnqueueUnique(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		first := get[receipt](a, http.MethodPost, "/jobs", `{"kind": "good", "unique_key": "u", "delay_ns": 3600000000000}`)
		for _, c := range []struct {
			fields            string
			replaced, refused bool
		}{
			{`"unique_mode": "replace"`, true, false}, {`"unique_mode": "again"`, true, false}, {`"debounce_ns": 1000, "at_most_ns": 2000`, true, false},
			{`"unique_mode": "keep"`, false, false}, {`"unique_mode": "x"`, false, true}, {`"debounce_ns": 0`, false, true}, {`"unique_for_ns": 0`, false, true}, {`"at_most_ns": 1`, false, true},
			{`"debounce_ns": 1000, "unique_for_ns": 1000`, false, true}, {`"debounce_ns": 1000, "delay_ns": 1000`, false, true},
		} {
			body := `{"kind": "good", "unique_key": "u", ` + c.fields + `}`
			if c.refused {
				a.refused(http.StatusBadRequest, http.MethodPost, "/jobs", body)
				continue
			}
			if again := get[receipt](a, http.MethodPost, "/jobs", body); again.ID != first.ID || !again.Existed || again.Replaced != c.replaced {
				t.Errorf("%s gives %+v", c.fields, again)
			}
		}
		period := get[receipt](a, http.MethodPost, "/jobs", `{"kind": "good", "unique_key": "p", "unique_for_ns": 3600000000000}`)
		must(t, client.Delete(t.Context(), period.ID))
		if again := get[receipt](a, http.MethodPost, "/jobs", `{"kind": "good", "unique_key": "p", "unique_for_ns": 3600000000000}`); !again.Existed {
			t.Errorf("within the period %+v is added", again)
		}
	})
}
