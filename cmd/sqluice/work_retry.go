package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// retryValue holds the delays before the next attempts of failed jobs: DELAY,DELAY... or FIRST..MOST.
type retryValue struct {
	text  string
	delay func(jobs.Job, error) time.Duration // nil for the default
}

func (v *retryValue) Set(text string) error {
	var delays []time.Duration
	first, most, grows := strings.Cut(text, "..")
	list := strings.Split(text, ",")
	if grows {
		list = []string{first, most}
	}
	for _, element := range list {
		d := time.Duration(0)
		if err := (&durationValue{value: &d}).Set(element); err != nil {
			return fmt.Errorf("be delays such as 1s,1m or 1s..1h: %q must %w", element, err)
		}
		delays = append(delays, d)
	}
	if v.text, v.delay = text, jobs.RetryAfter(delays...); grows {
		if delays[0] > delays[1] {
			return fmt.Errorf("not begin with a longer delay, %s, than it ends with, %s", delays[0], delays[1])
		}
		v.delay = jobs.ExponentialRetry(delays[0], delays[1])
	}
	return nil
}

func (v *retryValue) String() string { return v.text }

func (*retryValue) Type() string { return "DELAYS" }
