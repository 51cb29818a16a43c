package sqlite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// A schema that is newer than the library is not changed.
func TestNewerSchema(t *testing.T) {
	store, client := queue(t)
	enqueue(t, client, "k")
	foreign := plain(t, store.path)
	exec(t, foreign, "record_newer_schema", 999, 999)
	exec(t, foreign, "claim_newer_schema", 999)
	must(t, store.Close())

	foreign.SetMaxOpenConns(1) // data_version counts the commits of others for one connection
	before := dataVersionOf(t, foreign)
	newer, err := openBackend(t.Context(), store.path)
	must(t, err)
	defer func() { must(t, newer.Close()) }()
	client = jobs.New(newer)
	runner, err := jobs.NewRunner(client, jobs.Config{})
	must(t, err)
	jobs.Kind[int]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, int) error { return nil })
	_, enqueueErr := client.Enqueue(t.Context(), "k", []byte("{}"))
	_, getErr := client.Get(t.Context(), 1)
	for verb, err := range map[string]error{
		"enqueue": enqueueErr, "get": getErr, "check": client.CheckSchema(t.Context()),
		"run": runner.Run(t.Context()),
	} {
		var schema *jobs.SchemaError
		if !errors.As(err, &schema) || schema.Have != 999 || !strings.Contains(err.Error(), "newer") {
			t.Errorf("%s gives: %v", verb, err)
		}
	}
	if after := dataVersionOf(t, foreign); after != before {
		t.Error("something was written")
	}
	if n := scan[int](t, foreign, "count_jobs"); n != 1 {
		t.Errorf("%d jobs are there", n)
	}
}
