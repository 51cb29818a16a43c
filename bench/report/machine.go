package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // reports its version

	"github.com/sqluice/sqluice/bench/node"
)

// machine describes the machine of the measurement.
type machine struct {
	Date       string  `json:"date"`
	Revision   string  `json:"revision,omitempty"` // of the source
	CPU        string  `json:"cpu"`
	Cores      int     `json:"cores"`
	MemoryGB   float64 `json:"memory_gb"`
	System     string  `json:"system"`
	Kernel     string  `json:"kernel"`
	FlushMS    float64 `json:"flush_ms"`     // median of an fsync after 4 KB
	FlushP99MS float64 `json:"flush_p99_ms"` // and its 99th percentile
	Go         string  `json:"go"`
	SQLite     string  `json:"sqlite"`
	PostgreSQL string  `json:"postgresql,omitempty"`
	Redis      string  `json:"redis,omitempty"`
	Node       string  `json:"node,omitempty"`
}

func describeMachine(ctx context.Context) (machine, error) {
	m := machine{
		Date: time.Now().UTC().Format(time.DateOnly), Go: strings.TrimPrefix(runtime.Version(), "go"),
		Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Revision: first(output(ctx, "git", "describe", "--always", "--dirty", "--exclude=*")),
		CPU:      "unknown", Kernel: first(output(ctx, "uname", "-r")),
		Redis: version(output(ctx, "redis-server", "--version")),
	}
	if name := field("/proc/cpuinfo", "model name"); name != "" {
		m.CPU = name
	}
	if name := strings.Trim(field("/etc/os-release", "PRETTY_NAME"), `"`); name != "" {
		m.System = name
	}
	if kb, err := strconv.ParseFloat(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 64); err == nil {
		m.MemoryGB = float64(int(kb/1024/1024*10+0.5)) / 10
	}
	if err := node.Check(ctx, "node"); err == nil {
		m.Node = version(output(ctx, node.Program("node"), "--version"))
	}
	var err error
	if m.PostgreSQL, err = postgresVersion(ctx); err != nil {
		return machine{}, err
	}
	if m.SQLite, err = sqliteVersion(ctx); err != nil {
		return machine{}, err
	}
	m.FlushMS, m.FlushP99MS, err = flushTimes()
	return m, err
}

// output returns the output of a command, or "" without such a command.
func output(ctx context.Context, name string, args ...string) string {
	data, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// version finds the first word with a version number in it.
func version(text string) string {
	for _, word := range strings.Fields(text) {
		word = strings.TrimPrefix(strings.TrimPrefix(word, "v="), "v")
		if word != "" && word[0] >= '0' && word[0] <= '9' && strings.Contains(word, ".") {
			return word
		}
	}
	return ""
}

// field reads a value of a file such as those in /proc.
func field(file, name string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		end := strings.IndexAny(line, ":=")
		if end >= 0 && strings.TrimSpace(line[:end]) == name {
			return strings.TrimSpace(line[end+1:])
		}
	}
	return ""
}

// postgresVersion returns the version of the server that the harness uses: the one that its variable names, or else the
// newest of the local ones. It is empty without one.
func postgresVersion(ctx context.Context) (string, error) {
	if url := os.Getenv("SQLUICE_BENCH_POSTGRES"); url != "" {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return "", fmt.Errorf("connect to PostgreSQL: %w", err)
		}
		version := conn.PgConn().ParameterStatus("server_version")
		return version, conn.Close(ctx)
	}
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	program := "postgres"
	if len(programs) > 0 {
		// By length first, so that 9 comes before 10.
		program = slices.MaxFunc(programs, func(a, b string) int {
			if len(a) != len(b) {
				return len(a) - len(b)
			}
			return strings.Compare(a, b)
		})
	}
	return version(output(ctx, program, "--version")), nil
}

func sqliteVersion(ctx context.Context) (version string, err error) {
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	err = pool.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	return version, err
}

// flushes is the number of measured flushes.
const flushes = 300

// flushTimes returns the median and the 99th percentile of an fsync after 4 KB at the end of a file on the disk of
// temporary files, in milliseconds.
func flushTimes() (median, p99 float64, err error) {
	parent := os.Getenv("TMPDIR")
	if parent == "" {
		parent = "/var/tmp" // like the harness for PostgreSQL
	}
	file, err := os.CreateTemp(parent, "sqluice-flush-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	block := make([]byte, 4096)
	if _, err := rand.Read(block); err != nil {
		return 0, 0, err
	}
	times := make([]float64, flushes)
	for i := range times {
		begin := time.Now()
		if _, err := file.Write(block); err != nil {
			return 0, 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, 0, err
		}
		times[i] = float64(time.Since(begin).Microseconds()) / 1000
	}
	slices.Sort(times)
	return times[flushes/2], times[flushes*99/100], nil
}
