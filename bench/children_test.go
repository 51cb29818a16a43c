package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain lets the test binary run as its worker processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		exitOn(runChild(os.Args[2]))
		return
	}
	os.Exit(m.Run())
}

// shell returns a task for a worker process that is not a Go program; its last argument is $0.
func shell(role, script string) task {
	return task{Role: role, command: []string{"sh", "-c", script}}
}

const wellBehaved = `
case "$0" in *'"Role":"drain"'*) ;; *) exit 7 ;; esac
echo ready
read line
[ "$line" = begin ] || exit 8
echo done
echo '{"CPU": 3000000, "PeakRSS": 4096, "Begun": [{"N": 1, "At": 5}, {"N": 0, "At": 6}], "More": "is left alone"}'`

func TestWorkerProcessOfAnotherProgram(t *testing.T) {
	f, reports, err := running{}.together(t.Context(), []task{shell("drain", wellBehaved), shell("drain", wellBehaved)})
	if err != nil {
		t.Fatal(err)
	}
	if f.processes != 2 || f.cpu.Milliseconds() != 6 || f.peakRSS != 4096 || f.seconds <= 0 {
		t.Errorf("%+v", f)
	}
	if len(reports) != 2 || len(reports[1].Begun) != 2 || reports[1].Begun[0] != (jobStart{N: 1, At: 5}) {
		t.Errorf("%+v", reports)
	}
}

func TestWorkerProcessesThatFail(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`exit 1`, "ended before it was ready"},
		{`echo hello`, `said "hello\n" instead of ready`},
		{`echo ready; read line`, "ended before it was done"},
		{`echo ready; read line; echo done`, "EOF"},
		{`echo ready; read line; echo done; echo '{}'; exit 3`, "exit status 3"},
	} {
		_, _, err := running{}.together(t.Context(), []task{shell("drain", wellBehaved), shell("drain", c.script)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %s", c.script, err, c.want)
		}
	}
}

func TestWorkerProcessThatHangs(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	e := files{}
	c := comparison{workload: workload{name: "drain", share: 1}, engine: onSQLite}
	var hung error
	v := variant{measure: func(ctx context.Context, r running) (figures, error) {
		workers, err := startChildren(ctx, []task{shell("drain", "echo ready; exec sleep 1000")})
		if err != nil {
			return figures{}, err
		}
		stop() // only now, so that it surely hangs
		hung = errors.Join(workers.begin(), workers.done())
		return figures{}, hung
	}}
	s, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = measure(ctx, s, e, c, contender{durability: durabilityNormal}, v)
	if hung == nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Each own system on SQLite runs each short workload: no job may be lost or doubled.
func TestWorkloadsOnSQLite(t *testing.T) {
	s, err := parse([]string{"-n", "500", "-concurrency", "20", "-backlog", "50", "-run", "SQLite (insert|bulk|drain)"})
	if err != nil {
		t.Fatal(err)
	}
	chosen := choose(s, workloads(), ours(), t.Output())
	if len(chosen) == 0 {
		t.Fatal("nothing is chosen")
	}
	for _, c := range chosen {
		if c.name == handlersLong {
			continue
		}
		for _, system := range c.systems {
			for _, v := range c.lines {
				name := fmt.Sprint(c.name, "/", system.name, "/", system.durability, "/", v.settings)
				t.Run(name, func(t *testing.T) {
					f, err := measure(t.Context(), s, files{}, c, system, v)
					if err != nil {
						t.Fatal(err)
					}
					r := newResult(c, system, v, 1, f, nil)
					if r.Errors != 0 || r.Duplicates != 0 || r.JobsPerSecond <= 0 || r.CPUSeconds <= 0 || r.N != c.jobsOn(onSQLite, s.jobs) {
						t.Errorf("%+v", r)
					}
				})
			}
		}
	}
}

// A worker process must end when its parent was killed.
func TestWorkerProcessWithoutParent(t *testing.T) {
	d, err := files{}.create(t.Context(), durabilityNormal)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.drop(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range ours() {
		if c.engine != onSQLite || c.durability != durabilityNormal {
			continue
		}
		waiting := c.task(roleWork, d)
		waiting.Jobs, waiting.Concurrency = 1, 1
		d.path += "-next" // each has separate tables
		worker, err := startChild(t.Context(), waiting)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(worker.send("begin"), worker.in.Close()); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(worker.out) // to its end: the parent never told it to be done
		if err != nil || len(said) > 0 {
			t.Errorf("%s said %q, %v", c.key(), said, err)
		}
		var exit *exec.ExitError
		if err := worker.cmd.Wait(); !errors.As(err, &exit) {
			t.Errorf("%s ended well: %v", c.key(), err)
		}
	}
}
