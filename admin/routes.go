package admin

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
)

//go:embed openapi.json
var contract string

// route is an operation of the API. Its path follows base, as in openapi.json.
type route struct {
	method, path string
	serve        func(*Handler, *http.Request) (answer, error)
}

func (r route) changes() bool { return r.method != http.MethodGet }

// routes returns all operations; openapi.json describes each.
func routes() []route {
	return []route{
		{http.MethodGet, "/jobs", (*Handler).listJobs},
		{http.MethodPost, "/jobs", (*Handler).enqueue},
		{http.MethodGet, "/jobs/{id}", (*Handler).getJob},
		{http.MethodPatch, "/jobs/{id}", (*Handler).updateJob},
		{http.MethodDelete, "/jobs/{id}", (*Handler).deleteJob},
		{http.MethodGet, "/jobs/{id}/why", (*Handler).why},
		{http.MethodPost, "/jobs/{id}/retry", (*Handler).retryJob},
		{http.MethodPost, "/jobs/{id}/cancel", (*Handler).cancelJob},
		{http.MethodPost, "/bulk/enqueue", (*Handler).enqueueMany},
		{http.MethodPost, "/bulk/retry", (*Handler).retryMany},
		{http.MethodPost, "/bulk/cancel", (*Handler).cancelMany},
		{http.MethodPost, "/bulk/delete", (*Handler).deleteMany},
		{http.MethodPost, "/users/forget", (*Handler).forget},
		{http.MethodGet, "/failed", (*Handler).failed},
		{http.MethodGet, "/stats", (*Handler).stats},
		{http.MethodGet, "/history", (*Handler).history},
		{http.MethodGet, "/queues", (*Handler).queues},
		{http.MethodPost, "/queues/{name}/pause", (*Handler).pauseQueue},
		{http.MethodPost, "/queues/{name}/resume", (*Handler).resumeQueue},
		{http.MethodGet, "/retention", (*Handler).retention},
		{http.MethodPut, "/retention", (*Handler).setRetention},
		{http.MethodDelete, "/retention", (*Handler).removeRetention},
		{http.MethodGet, "/limits", (*Handler).limits},
		{http.MethodPut, "/limits", (*Handler).setLimit},
		{http.MethodDelete, "/limits", (*Handler).deleteLimit},
		{http.MethodGet, "/limits/keys", (*Handler).limitKeys},
		{http.MethodPost, "/limits/resume", (*Handler).resumeSequence},
		{http.MethodGet, "/schedules", (*Handler).listSchedules},
		{http.MethodGet, "/schedules/{name}", (*Handler).getSchedule},
		{http.MethodPut, "/schedules/{name}", (*Handler).putSchedule},
		{http.MethodDelete, "/schedules/{name}", (*Handler).deleteSchedule},
		{http.MethodGet, "/schedules/{name}/why", (*Handler).whySchedule},
		{http.MethodPost, "/schedules/{name}/pause", (*Handler).pauseSchedule},
		{http.MethodPost, "/schedules/{name}/resume", (*Handler).resumeSchedule},
		{http.MethodPost, "/schedules/{name}/run", (*Handler).runSchedule},
		{http.MethodGet, "/workers", (*Handler).workers},
		{http.MethodGet, "/events", (*Handler).events},
		{http.MethodGet, "/audit", (*Handler).audit},
		{http.MethodGet, "/healthz", (*Handler).healthz},
		{http.MethodGet, "/readyz", (*Handler).readyz},
		{http.MethodGet, "/openapi.json", (*Handler).openAPI},
	}
}

// contractBelow returns openapi.json for a handler that is mounted below the prefix.
func contractBelow(prefix string) ([]byte, error) {
	if prefix == "" {
		return []byte(contract), nil
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(contract), &document); err != nil {
		return nil, fmt.Errorf("read openapi.json: %w", err)
	}
	document["servers"] = []any{map[string]any{"url": prefix}}
	return json.Marshal(document)
}
