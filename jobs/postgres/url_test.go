package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestURLs(t *testing.T) {
	for _, url := range []string{
		"postgres://host/db", "postgresql://user:p%40ss@host:5432/db?sslmode=disable", "postgres:///db?host=/tmp",
		"postgres://a,b/db?target_session_attrs=read-write",
	} {
		store, err := openBackend(t.Context(), url)
		must(t, err)
		must(t, store.Close())
	}
	for url, says := range map[string]string{
		"":                                "the URL is empty; it must begin with postgres://",
		"db":                              "must begin with postgres://",
		"mysql://user:s3cr3t@host/db":     "must begin with postgres://",
		"host=h password=s3cr3t":          "must begin with postgres://",
		"postgres://user:s3cr3t@host:x/":  "URL",
		"postgres://user:s3cr3t%@host/":   "URL",
		"postgres://user:s3cr3t@host/#x":  "",
		"postgres://user:s3cr3t@[::1/db":  "URL",
		"postgres://h/?schema=":           "schema",
		"postgres://h/?schema=pg_x":       "schema",
		"postgres://h/?schema=%zz":        "schema",
		"postgres://h/?pgbouncer=maybe":   "pgbouncer=maybe must be true or false",
		"postgres://h/?notify=2":          "notify=2 must be true or false",
		"postgres://h/?poll=1":            "poll=1 must be a duration",
		"postgres://h/?poll=0s":           "poll=0s must be a duration",
		"postgres://h/?poll=61s":          "poll=61s must be a duration",
		"postgres://h/?pool_max_conns=0":  "pool_max_conns",
		"postgres://h/?sslmode=sometimes": "sslmode",
		"postgres://h/?a=b#fragment":      "fragment",
		"postgres://u:s3cr3t@x@host/db":   "%40",
	} {
		store, err := openBackend(t.Context(), url)
		if err == nil {
			must(t, store.Close())
			if says != "" {
				t.Errorf("%s is taken", url)
			}
			continue
		}
		if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s gives: %v", url, err)
		}
	}
	for name, opts := range map[string][]Option{
		"poll": {WithPoll(0)}, "schema": {WithSchema("pg_x")}, "session": {WithSession("postgres://u:s3cr3t@h:x/")}, "session URL": {WithSession("db")},
	} {
		if _, err := openBackend(t.Context(), "postgres://h/db", opts...); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the option %s gives %v", name, err)
		}
	}
	if _, err := openBackend(t.Context(), "postgres://h/db", WithPoll(0), WithSchema("")); err == nil || !strings.Contains(err.Error(), "poll") || !strings.Contains(err.Error(), "schema") {
		t.Errorf("faults of several options are not told together: %v", err)
	}
}

// An option in the URL equals the option in Go; one in Go takes precedence.
func TestParametersOfTheURL(t *testing.T) {
	store, err := openBackend(t.Context(), "postgres://h/db?schema=My%20%22S%22&poll=250ms&notify=false&pgbouncer=1&application_name=app")
	must(t, err)
	defer func() { must(t, store.Close()) }()
	o := store.conns.options
	if o.schema != `My "S"` || o.poll != 250*time.Millisecond || !o.silent || !o.pooled {
		t.Errorf("the options are %+v", o)
	}
	params := store.conns.pool.Config().ConnConfig.RuntimeParams
	if len(params) != 2 || params["application_name"] != "app" || params["client_encoding"] != "UTF8" {
		t.Errorf("the server is given %v", params)
	}
	over, err := openBackend(t.Context(), "postgres://h/db?schema=a&notify=false", WithSchema("b"))
	must(t, err)
	defer func() { must(t, over.Close()) }()
	want(t, "the schema", over.conns.options.schema, "b")
	want(t, "silent", over.conns.options.silent, true)
}

// For any invalid URL, the error does not show its password.
func FuzzURLErrorsHidePasswords(f *testing.F) {
	const secret = "s3cr3tw0rd"
	for _, tail := range []string{"", "@host/db", "@host:x", "%", "/@host", "@[::1", "@h/?schema=", "#@h", "?@h/db", "@h/?sslmode=x", "@h\x00/", "@h/?poll=x&" + "a=%"} {
		f.Add("user:", tail)
		f.Add("", tail)
	}
	f.Fuzz(func(t *testing.T, user, tail string) {
		if strings.ContainsAny(user, "?#/") { // then it is no password
			return
		}
		store, err := openBackend(context.Background(), "postgres://"+user+secret+tail)
		if err == nil {
			_ = store.Close() // its pool was never used
			return
		}
		if strings.Contains(user, ":") && strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
			t.Errorf("%q, %q: %v", user, tail, err)
		}
	})
}
