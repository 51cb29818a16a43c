package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hibiken/asynq"
	"github.com/sqluice/sqluice/internal/test/serveruser"
)

const onRedis = "Redis"

// redisServers makes Redis's databases: a server for each run, on a socket in a temporary folder.
type redisServers struct{ program string }

func startRedis(context.Context) (engine, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: %w; on Debian it is in the package redis-server", errNoServer, err)
	}
	return redisServers{program}, nil
}

// redisArgs returns the arguments. Every change goes into the append-only file, which is flushed each second, or before
// each answer where durability is full. Snapshots would only disturb the measurement.
func redisArgs(socket, durability string) []string {
	flush := "everysec"
	if durability == durabilityFull {
		flush = "always"
	}
	return []string{
		"--port", "0", "--unixsocket", socket, "--dir", filepath.Dir(socket), "--save", "",
		"--appendonly", "yes", "--appendfsync", flush,
	}
}

func (r redisServers) create(ctx context.Context, durability string) (_ database, err error) {
	dir, err := folder()
	if err != nil {
		return database{}, err
	}
	attributes, err := serveruser.Attributes(dir)
	if err != nil {
		return database{}, errors.Join(err, os.RemoveAll(dir))
	}
	separate(attributes)
	socket := filepath.Join(dir, "redis.sock")
	var log bytes.Buffer
	cmd := exec.Command(r.program, redisArgs(socket, durability)...)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = dir, attributes, &log, &log
	if err := cmd.Start(); err != nil {
		return database{}, errors.Join(err, os.RemoveAll(dir))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	drop := func() error {
		// The data is temporary. Neither an end by a signal nor an earlier end is an error.
		err := cmd.Process.Signal(syscall.SIGKILL)
		if err == nil {
			<-ended
		} else if errors.Is(err, os.ErrProcessDone) {
			err = nil
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := awaitRedis(ctx, socket, ended); err != nil {
		return database{}, errors.Join(err, drop(), errors.New(log.String()))
	}
	return database{path: socket, serverCPU: (&server{process: cmd.Process.Pid}).cpu, drop: drop}, nil
}

func (redisServers) stop() error { return nil }

// awaitRedis returns when the server answers.
func awaitRedis(ctx context.Context, socket string, ended <-chan error) error {
	client := asynq.NewClient(asynq.RedisClientOpt{Network: "unix", Addr: socket})
	defer client.Close()
	for until := time.Now().Add(startWithin); ; {
		err := client.Ping()
		if err == nil {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("redis-server was not ready after %s: %w", startWithin, err)
		}
		select {
		case err := <-ended:
			return fmt.Errorf("redis-server ended at its start: %v", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
