//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
)

const (
	doMigrate = "migrate"
	doProgram = "program" // of "sqluice work --exec"
)

// The messages of a migrating process.
const (
	saysMigrating = 1
	saysMigrated  = 2
)

// migrate brings the schema to the newest version.
func (p *player) migrate(ctx context.Context) error {
	if _, err := fmt.Println(saysMigrating); err != nil {
		return err
	}
	if _, err := p.client.Migrate(ctx); err != nil {
		return err
	}
	_, err := fmt.Println(saysMigrated)
	return err
}

// program is the handler of a job as a program: it knows no database.
func (r role) program() (err error) {
	notes, err := history.Append(r.History, r.Name)
	if err != nil {
		return err
	}
	defer func() { err = joinClose(err, notes) }()
	var args label
	if err := json.NewDecoder(os.Stdin).Decode(&args); err != nil {
		return err
	}
	id, err := strconv.ParseInt(os.Getenv("SQLUICE_JOB_ID"), 10, 64)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(os.Getenv("SQLUICE_ATTEMPT"))
	if err != nil {
		return err
	}
	if err := notes.Write(history.Event{What: history.Start, Key: args.Key, Job: id, Attempt: number}); err != nil {
		return err
	}
	time.Sleep(r.Longest) // its work
	if err := json.NewEncoder(os.Stdout).Encode(outcome{number, r.Name}); err != nil {
		return err
	}
	return notes.Write(history.Event{What: history.Return, Job: id, Attempt: number})
}
