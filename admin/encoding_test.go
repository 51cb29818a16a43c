package admin_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// A compressed body is refused as that, and not as one that is no JSON.
func TestCompressedBodiesAreRefused(t *testing.T) {
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{})
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(`{"kind": "k"}`))
	must(t, err)
	must(t, w.Close())
	for _, test := range []struct {
		path, mediaType, encoding, body string
		want                            int
	}{
		{base + "/jobs", "application/json", "gzip", packed.String(), http.StatusUnsupportedMediaType},
		{base + "/jobs", "application/json", "br", "x", http.StatusUnsupportedMediaType},
		{base + "/jobs/1/cancel", "", "gzip", packed.String(), http.StatusUnsupportedMediaType},
		{base + "/bulk/retry", "application/json", "identity, gzip", packed.String(), http.StatusUnsupportedMediaType},
		{"/jobs/change", "application/x-www-form-urlencoded", "gzip", packed.String(), http.StatusUnsupportedMediaType},
		{base + "/jobs", "application/json", "identity", `{"kind": "k"}`, http.StatusCreated},
		{base + "/jobs", "application/json", "", `{"kind": "k"}`, http.StatusCreated},
	} {
		r := localRequest(http.MethodPost, test.path, test.body)
		r.Header.Set("Content-Type", test.mediaType)
		r.Header.Set("Content-Encoding", test.encoding)
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		if answer.Code != test.want {
			t.Errorf("%s with the encoding %q is answered with %d, want %d: %s", test.path, test.encoding, answer.Code, test.want, answer.Body)
		}
		if test.want == http.StatusUnsupportedMediaType && !strings.Contains(answer.Body.String(), "uncompressed") {
			t.Errorf("%s with the encoding %q: %s", test.path, test.encoding, answer.Body)
		}
	}
}

func TestByteOrderMarksAreNamed(t *testing.T) {
	a := serve(t, jobs.New(testdb.SQLite(t)), admin.Config{})
	for _, body := range []string{"\uFEFF" + `{"kind": "k"}`, "\xFF\xFE{\x00}\x00"} {
		if p := a.refused(http.StatusBadRequest, http.MethodPost, "/jobs", body); !strings.Contains(p.Detail, "byte order mark") {
			t.Errorf("%q is refused with %q", body, p.Detail)
		}
	}
}

func TestPagesWithASlashAtTheirEnd(t *testing.T) {
	for _, prefix := range []string{"", "/queue"} {
		client := jobs.New(testdb.SQLite(t))
		receipt, err := client.Enqueue(t.Context(), "k", []byte("{}"))
		must(t, err)
		h := newHandler(t, client, admin.Config{Prefix: prefix})
		for path, to := range map[string]string{
			"/jobs/": "/jobs", "/failed/": "/failed", "/queues/": "/queues", "/limits/": "/limits", "/workers/": "/workers", "/audit/": "/audit",
			"/jobs/?status=failed&kind=a%26b":    "/jobs?status=failed&kind=a%26b",
			fmt.Sprintf("/jobs/%d/", receipt.ID): fmt.Sprintf("/jobs/%d", receipt.ID),
		} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				answer := httptest.NewRecorder()
				h.ServeHTTP(answer, localRequest(method, prefix+path, ""))
				if location := answer.Header().Get("Location"); answer.Code != http.StatusMovedPermanently || location != prefix+to {
					t.Errorf("%s %s%s is answered with %d to %q", method, prefix, path, answer.Code, location)
				}
			}
		}
		for _, path := range []string{"/jobs//", "//jobs/", "/nosuch/", "/jobs/1/2/", "/static/", "/jobs/change/x/", base + "/jobs/", "/%2Fevil.example/"} {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, localRequest(http.MethodGet, prefix+path, ""))
			if answer.Code != http.StatusNotFound {
				t.Errorf("%s%s is answered with %d", prefix, path, answer.Code)
			}
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, localRequest(http.MethodPost, prefix+"/jobs/", ""))
		if answer.Code != http.StatusNotFound {
			t.Errorf("POST %s/jobs/ is answered with %d", prefix, answer.Code)
		}
	}
}

// A proxy that replaces or drops the Host makes a browser's form look like one of another site: the answer has a remedy.
func TestFormsThroughAProxyNameTheRemedy(t *testing.T) {
	h := newHandler(t, jobs.New(testdb.SQLite(t)), admin.Config{Token: token, Hosts: []string{"jobs.example.com", "inner"}})
	for name, test := range map[string]struct {
		host   string
		remedy []string
	}{
		"another host": {"inner", []string{"Host header field", "--origin"}},
		"no host":      {"", []string{"Host header field", "--host"}},
		"unknown host": {"inner.local", []string{"Host header field", "--host"}},
	} {
		r := localRequest(http.MethodPost, "/queues/pause", "name=q")
		r.Host = test.host
		r.Header.Set("Origin", "https://jobs.example.com")
		r.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		if answer.Code != http.StatusForbidden {
			t.Errorf("%s: answered with %d: %s", name, answer.Code, answer.Body)
		}
		for _, part := range test.remedy {
			if !strings.Contains(answer.Body.String(), part) {
				t.Errorf("%s: the answer does not say %q: %s", name, part, answer.Body)
			}
		}
	}
}

// localRequest is a request of a program on this machine.
func localRequest(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	local := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	r.RemoteAddr = "127.0.0.1:1234"
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&local)))
}
