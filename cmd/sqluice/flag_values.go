package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sqluice/sqluice/jobs"
)

// The types of flags. Their errors are phrases that follow "must"; flagError completes them.

// intValue is an integer within bounds.
type intValue struct {
	value       *int
	least, most int
}

func (v *intValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < v.least || n > v.most {
		return fmt.Errorf("be a whole number from %d to %d", v.least, v.most)
	}
	*v.value = n
	return nil
}

func (v *intValue) String() string { return strconv.Itoa(*v.value) }
func (v *intValue) Type() string   { return "N" }

// durationValue is a duration within bounds.
type durationValue struct {
	value       *time.Duration
	least, most time.Duration // most 0 means no bound
}

func (v *durationValue) Set(text string) error {
	d, err := parseDuration(text)
	switch {
	case err != nil:
		return err
	case v.most > 0 && (d < v.least || d > v.most):
		return fmt.Errorf("be from %s to %s", v.least, v.most)
	case d < 0:
		return errors.New("not be negative")
	case d < v.least:
		return fmt.Errorf("be at least %s", v.least)
	}
	*v.value = d
	return nil
}

func (v *durationValue) String() string {
	if *v.value == 0 {
		return ""
	}
	return v.value.String()
}
func (v *durationValue) Type() string { return "DURATION" }

// parseDuration is time.ParseDuration with days of 24 hours in front: 90s, 1h30m, 7d, 1d12h.
func parseDuration(text string) (time.Duration, error) {
	fault := errors.New("be a duration such as 90s, 10m, 1h30m or 7d, of at most 292 years")
	var days time.Duration
	if number, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fault
		}
		days = time.Duration(n) * 24 * time.Hour
		if days/(24*time.Hour) != time.Duration(n) {
			return 0, fault
		}
		if rest == "" {
			return days, nil
		}
		if n < 0 || strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
			return 0, fault
		}
		text = rest
	}
	d, err := time.ParseDuration(text)
	if err != nil || days+d < days && d > 0 {
		return 0, fault
	}
	return days + d, nil
}

// timeValue is a time of RFC 3339.
type timeValue struct{ value *time.Time }

func (v *timeValue) Set(text string) error {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New("be a time of RFC 3339, such as 2030-01-31T15:04:05Z or 2030-01-31T15:04:05+01:00")
	}
	*v.value = t
	return nil
}

func (v *timeValue) String() string {
	if v.value.IsZero() {
		return ""
	}
	return v.value.Format(time.RFC3339)
}
func (v *timeValue) Type() string { return "TIME" }

// startByValue is a time, or a duration after the time at which a job is due.
type startByValue struct {
	at     time.Time
	within time.Duration
}

func (v *startByValue) Set(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err == nil {
		v.at, v.within = at, 0
		return nil
	}
	within, err := parseDuration(text)
	if err != nil || within <= 0 {
		return errors.New("be a duration such as 90s, 10m or 1h30m, or a time of RFC 3339, such as 2030-01-31T15:04:05Z")
	}
	v.at, v.within = time.Time{}, within
	return nil
}

func (v *startByValue) String() string {
	switch {
	case v.within != 0:
		return v.within.String()
	case v.at.IsZero():
		return ""
	}
	return v.at.Format(time.RFC3339)
}
func (v *startByValue) Type() string { return "TIME" }

// option returns the option for the value.
func (v *startByValue) option() jobs.EnqueueOption {
	if v.within != 0 {
		return jobs.StartWithin(v.within)
	}
	return jobs.StartBy(v.at)
}

// choiceValue is one of a few words.
type choiceValue struct {
	value   *string
	choices []string
}

func (v *choiceValue) Set(text string) error {
	if !slices.Contains(v.choices, text) {
		return fmt.Errorf("be %s", orList(v.choices))
	}
	*v.value = text
	return nil
}

func (v *choiceValue) String() string { return *v.value }
func (v *choiceValue) Type() string   { return strings.Join(v.choices, "|") }

// nameValue is the name of a kind, queue or worker.
type nameValue struct{ value *string }

func (v *nameValue) Set(text string) error {
	var invalid *jobs.InvalidError
	if err := jobs.ValidateName("name", text); errors.As(err, &invalid) {
		return errors.New(invalid.Must)
	}
	*v.value = text
	return nil
}

func (v *nameValue) String() string { return *v.value }
func (v *nameValue) Type() string   { return "NAME" }

// textValue is a text that is not empty: here an empty one is most likely a variable of a script that is not set.
type textValue struct{ value *string }

// textFlag adds a flag whose value is a text that is not empty.
func textFlag(flags *pflag.FlagSet, value *string, name, usage string) {
	flags.Var(&textValue{value}, name, usage)
}

func (v *textValue) Set(text string) error {
	if text == "" {
		return errors.New("not be empty")
	}
	*v.value = text
	return nil
}

func (v *textValue) String() string { return *v.value }
func (v *textValue) Type() string   { return "string" }

// orList returns "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// parseID parses a job's id.
func parseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usagef("ID %q must be a whole number from 1", shown(text))
	}
	return id, nil
}

func parseIDs(texts []string) ([]int64, error) {
	ids := make([]int64, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = parseID(text); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// maxIDs bounds the number of jobs on one command line: the system bounds its arguments.
const maxIDs = math.MaxInt

// cursorValue is the last id of the previous page.
type cursorValue struct{ value *int64 }

func (v *cursorValue) Set(text string) error {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return errors.New("be the last id of the previous page, a whole number from 1")
	}
	*v.value = id
	return nil
}

func (v *cursorValue) String() string {
	if *v.value == 0 {
		return ""
	}
	return strconv.FormatInt(*v.value, 10)
}
func (v *cursorValue) Type() string { return "ID" }
