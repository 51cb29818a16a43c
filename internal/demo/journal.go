package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sqluice/sqluice/jobs"
)

// attempt names one run of one job.
type attempt struct {
	job     int64
	attempt int
}

// journal is a worker process's own record of its handlers, which the audit compares with the database. Every line is
// one write to the file, so that it outlives the process.
type journal struct{ file *os.File }

const (
	began    = "began"
	returned = "returned"
)

func openJournal(folder string) (*journal, error) {
	name := filepath.Join(folder, fmt.Sprintf("worker-%d.journal", os.Getpid()))
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file}, nil
}

func (j *journal) record(what string, job jobs.Job) error {
	_, err := fmt.Fprintf(j.file, "%s %d %d\n", what, job.ID, job.Attempt)
	return err
}

func (j *journal) close() error { return j.file.Close() }

// account counts the starts and the returns of each attempt, over all journals.
type account struct {
	began    map[attempt]int
	returned map[attempt]int
}

func readJournals(folder string) (account, error) {
	a := account{began: map[attempt]int{}, returned: map[attempt]int{}}
	names, err := fs.Glob(os.DirFS(folder), "worker-*.journal")
	if err != nil {
		return a, err
	}
	for _, name := range names {
		if err := a.read(filepath.Join(folder, name)); err != nil {
			return a, fmt.Errorf("read journal %s: %w", name, err)
		}
	}
	return a, nil
}

func (a account) read(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var what string
		var of attempt
		if _, err := fmt.Sscanf(lines.Text(), "%s %d %d", &what, &of.job, &of.attempt); err != nil {
			return fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		switch what {
		case began:
			a.began[of]++
		case returned:
			a.returned[of]++
		default:
			return fmt.Errorf("line %q begins with an unknown word", lines.Text())
		}
	}
	return lines.Err()
}
