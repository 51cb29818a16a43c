//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/jobtype"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// fleet is the processes of a lane on one database. One goroutine at a time may call its methods.
type fleet struct {
	trial   *trial
	name    string // of its histories, in a trial with several fleets
	address string
	client  *jobs.Client
	all     []*process
	ends    map[string]time.Time // of processes that were killed, by name

	user *account // the user that its processes run as; nil for the user of this process

	// within starts processes in another network. nil for the network of this process.
	within func(start func() error) error

	histories []string // of programs other than its processes
	report    history.Report
}

// process is this program once more, in a role.
type process struct {
	role
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	acked  chan int // the lines that an enqueuer prints; closed at its end
	stderr *buffer
	ended  chan struct{}
	err    error // once it has ended
}

// onQueue runs fn with an empty queue on the trial's engine.
func onQueue(ctx context.Context, t *trial, fn func(*fleet) error) error {
	if t.engine == onPostgres {
		return onServer(ctx, func(b *bench, server *testdb.Cluster) error {
			address := server.Database(b)
			store, err := openStore(ctx, address, nil)
			if err != nil {
				return err
			}
			return withFleet(ctx, t, address, store, fn)
		})
	}
	path := filepath.Join(t.dir, "jobs.db")
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	err = withFleet(ctx, t, path, store, fn)
	t.checkSound(ctx, path)
	return err
}

// checkSound reports a damaged database file.
func (t *trial) checkSound(ctx context.Context, path string) {
	if damage, err := integrity(ctx, path); err != nil || damage != "ok" {
		t.find(tally{other: []string{fmt.Sprintf("the database %s is damaged: %s, %v", path, damage, err)}})
	}
}

func withFleet(ctx context.Context, t *trial, address string, store jobs.Store, fn func(*fleet) error) (err error) {
	defer func() { err = errors.Join(err, store.Close()) }()
	f := &fleet{trial: t, address: address, client: jobs.New(store), ends: map[string]time.Time{}}
	defer f.killAll()
	if _, err := f.client.Migrate(ctx); err != nil {
		return err
	}
	return fn(f)
}

// start starts a process, whose name must be new.
func (f *fleet) start(r role) (*process, error) { return f.startProgram("", r) }

// startProgram is start with another build of this program; with this one if program is empty.
func (f *fleet) startProgram(program string, r role) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if program != "" {
		self = program
	}
	r.Seed = f.trial.random.Uint64()
	if r.DB == "" { // else it finds its own way
		r.DB = f.address
	}
	r.History = filepath.Join(f.trial.dir, fmt.Sprintf("history-%s%d", f.name, len(f.all)))
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	attributes := &syscall.SysProcAttr{}
	if f.user != nil {
		self, attributes.Credential = f.user.program, f.user.credential()
		if err := f.user.giveFile(r.History); err != nil {
			return nil, err
		}
	}
	p := &process{role: r, cmd: exec.Command(self), acked: make(chan int, 1000), stderr: &buffer{}, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	p.cmd.Stderr, p.cmd.SysProcAttr = p.stderr, attributes
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begin := p.cmd.Start
	if f.within != nil {
		begin = func() error { return f.within(p.cmd.Start) }
	}
	if err := begin(); err != nil {
		return nil, err
	}
	f.all = append(f.all, p)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			var n int
			if _, err := fmt.Sscan(lines.Text(), &n); err == nil {
				p.acked <- n
			}
		}
		close(p.acked)
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// kill ends a process at once and waits until the kernel has removed it.
func (f *fleet) kill(p *process) error {
	f.ends[p.Name] = time.Now()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	return nil
}

// killAll ends the processes of an unfinished lane.
func (f *fleet) killAll() {
	for _, p := range f.all {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
	}
}

// signal sends a signal; a process that has ended is no error.
func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// end waits for the end of a process that was asked to end. The end must be clean.
func (p *process) end() error {
	select {
	case <-p.ended:
	case <-time.After(hang):
		return fmt.Errorf("%s does not end:\n%s", p.Name, p.stderr.last())
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", p.Name, p.err, p.stderr.last())
	}
	return nil
}

// release lets a process end by itself.
func (p *process) release() error {
	if err := p.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return p.end()
}

// events returns the events that the process has recorded so far.
func (p *process) events() ([]history.Event, error) {
	list, err := history.ReadFiles(p.History)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// errGivenUp is the error of a wait that cannot succeed.
var errGivenUp = errors.New("given up waiting until")

// until waits for a condition, and stops when it can no longer hold.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(hang)
	for {
		is, err := holds()
		if is || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w %s", errGivenUp, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// endAll ends the enqueuers, and the workers when no job waits or runs any more.
func (f *fleet) endAll(ctx context.Context, enqueuers, workers []*process) error {
	for _, p := range enqueuers {
		if err := p.release(); err != nil {
			return err
		}
	}
	if err := f.drained(ctx); err != nil {
		return err
	}
	for _, p := range workers {
		if err := p.release(); err != nil {
			return err
		}
	}
	return nil
}

// drained waits until no job waits or runs.
func (f *fleet) drained(ctx context.Context) error {
	var left map[jobs.Status]int64
	for before := int64(math.MaxInt64); before > 0; {
		err := until(ctx, "more jobs have ended", func() (bool, error) {
			stats, err := inspect.New(f.client).Stats(ctx)
			left = stats.Jobs
			n := left[jobs.StatusPending] + left[jobs.StatusRunning] + left[jobs.StatusScheduled] + left[jobs.StatusWaiting]
			if err != nil || n >= before {
				return false, err
			}
			before = n
			return true, nil
		})
		if err != nil {
			return fmt.Errorf("%w: %v", err, left)
		}
	}
	return nil
}

// judge reads all histories, compares them with the database, and adds its findings to the trial's row.
func (f *fleet) judge(ctx context.Context) ([]history.Event, []jobs.Job, error) {
	var events []history.Event
	for _, p := range f.all {
		list, err := p.events()
		if err != nil {
			return nil, nil, err
		}
		events = append(events, list...)
	}
	others, err := history.ReadFiles(f.histories...)
	if err != nil {
		return nil, nil, err
	}
	events = append(events, others...)
	list, err := allJobs(ctx, f.client)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]history.Row, len(list))
	for i, job := range list {
		var p label
		erased := string(job.Payload) == jobtype.ForgottenJSON
		if err := json.Unmarshal(job.Payload, &p); err != nil && !erased {
			return nil, nil, fmt.Errorf("job %d: %w", job.ID, err)
		}
		rows[i] = history.Row{ID: job.ID, Key: p.Key, Attempt: job.Attempt, Done: job.Status == jobs.StatusDone, Erased: erased}
		if name := job.Schedule(); name != "" {
			rows[i].Tick = fmt.Sprintf("the tick %s of %q", job.Tick(), name)
		}
		if len(job.Result) > 0 {
			var o outcome
			if err := json.Unmarshal(job.Result, &o); err != nil {
				return nil, nil, fmt.Errorf("job %d: %w", job.ID, err)
			}
			rows[i].By = o.Attempt
		}
	}
	report := history.Check(events, rows)
	f.report = report
	f.trial.find(tally{lost: report.Lost, doubled: report.Doubled, stale: report.Stale, other: slices.Concat(report.Unexpected, report.Unique, report.Changed, report.Left, report.Older)})
	f.trial.count(report.Acked+report.Recovered+report.Ticks+report.Forgotten, 0)
	seen := map[history.What]int{}
	for _, e := range events {
		seen[e.What]++
	}
	wrong, err := inspect.New(f.client).Recount(ctx)
	if err != nil {
		return nil, nil, err
	}
	if wrong != 0 {
		f.trial.find(tally{other: []string{fmt.Sprintf("%d counts of jobs were wrong", wrong)}})
	}
	f.trial.say("%d enqueues acknowledged, %d refused, %d recovered and %d missed of unknown outcome; %d payloads replaced, %d updated; %d jobs started %d times; %d ends committed, %d stale ones refused",
		report.Acked, report.Refused, report.Recovered, report.Missed, report.Replaced, report.Updated, report.Started, report.Starts, seen[history.Ok], seen[history.Stale])
	return events, list, nil
}

// buffer collects a process's output, and can be read at the same time.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

// count counts the occurrences of a text in the output.
func (b *buffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Count(b.data.Bytes(), []byte(text))
}

// last returns the end of the output.
func (b *buffer) last() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	const most = 4000
	text := b.data.Bytes()
	return string(text[max(0, len(text)-most):])
}
