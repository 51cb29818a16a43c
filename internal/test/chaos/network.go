//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/sqlfiles"
	"github.com/sqluice/sqluice/internal/test/history"
	"github.com/sqluice/sqluice/internal/test/testdb"
)

// laneNetwork disturbs a PostgreSQL server and the network: backends are ended one after the other, the server crashes,
// connections are forgotten on the way, nothing passes for longer than a lease, a pooler restarts. Each process
// continues by itself; nothing is lost, and no end is accepted from an attempt that another worker had by then.
//
// Where networks can be made, the server has one and a worker another one. Elsewhere only a proxy stands between some
// of the processes and the server.
func laneNetwork() lane {
	return lane{number: 7, name: "server and network", engines: []string{onPostgres}, run: func(ctx context.Context, t *trial) (err error) {
		c, err := newCable()
		if errors.Is(err, errNotHere) {
			t.say("no partition between networks, but by a proxy only: %v", err)
		} else if err != nil {
			return err
		}
		if c != nil {
			defer func() { err = errors.Join(err, c.close()) }()
		}
		return onBench(ctx, func(b *bench) error {
			server, err := c.startServer(b)
			if err != nil {
				return err
			}
			address := server.Database(b)
			store, err := openStore(ctx, address, nil)
			if err != nil {
				return err
			}
			return withFleet(ctx, t, address, store, func(f *fleet) error { return f.badNetwork(ctx, b, server, c) })
		})
	}}
}

// startServer starts a PostgreSQL server at the near end, or in this network when there is no cable. Its socket can be reached
// from all of them.
func (c *cable) startServer(b *bench) (server *testdb.Cluster, err error) {
	settings := lasting()
	if c == nil {
		return testdb.StartCluster(b, settings), nil
	}
	settings["listen_addresses"] = nearAddress
	err = c.atNear(func() error {
		server = testdb.StartCluster(b, settings)
		// The server reads the trusted addresses at its start.
		server.Stop(b, "fast")
		file, err := os.OpenFile(filepath.Join(server.DataDir(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(file, "host all all %s trust\n", cableNet)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		server.Start(b)
		return nil
	})
	return server, err
}

// terminateEvery is the interval between ends of backends.
const terminateEvery = 15 * time.Millisecond

// networkPace is the interval at which an enqueuer is asked for jobs, so that the workers keep up.
const networkPace = 100 * time.Millisecond

// network is the part of the environment that the processes of a crew depend on.
type network struct {
	*crew
	bench  *bench
	server *testdb.Cluster
	relay  *relay
	cable  *cable            // nil without a pooler
	pooler *testdb.PgBouncer // nil without a cable
}

func (f *fleet) badNetwork(ctx context.Context, b *bench, server *testdb.Cluster, c *cable) (err error) {
	direct, err := url.Parse(f.address)
	if err != nil {
		return err
	}
	r, err := newRelay(filepath.Join(direct.Query().Get("host"), ".s.PGSQL.5432"))
	if err != nil {
		return err
	}
	defer func() {
		f.killAll()
		err = errors.Join(err, r.close())
	}()
	n := &network{crew: f.emptyCrew(), bench: b, server: server, relay: r, cable: c}
	n.every = networkPace
	ways := []string{f.address, through(*direct, r.address()), through(*direct, r.address())}
	if hasPgBouncer() {
		n.pooler = testdb.StartPgBouncer(b, server.URL(), map[string]string{"server_login_retry": "1"})
		ways = append(ways, n.pooler.URL(f.address))
	} else {
		f.trial.say("pgbouncer is not installed: its restarts are not tested")
	}
	for _, way := range ways {
		if err := n.join(way); err != nil {
			return err
		}
	}
	if c != nil {
		n.within = c.atFar
		if err := n.join(through(*direct, net.JoinHostPort(nearAddress, "5432"))); err != nil {
			return err
		}
		n.within = nil
	}
	return n.suffer(ctx)
}

// through returns the URL of a database through another address.
func through(database url.URL, address string) string {
	database.Host = address
	query := database.Query()
	query.Del("host")
	query.Set("sslmode", "disable")
	database.RawQuery = query.Encode()
	return database.String()
}

func hasPgBouncer() bool {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

// join starts a worker and an enqueuer with a way to the server.
func (n *network) join(way string) error {
	worker, err := n.start(role{
		Do: "work", DB: way, Name: fmt.Sprint("worker ", len(n.all)), Lease: diskLease, Grace: time.Second, Slots: 4, Longest: 30 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	n.workers = append(n.workers, worker)
	enqueuer, err := n.start(role{Do: "enqueue", DB: way, Name: fmt.Sprint("enqueuer ", len(n.all))})
	n.enqueuers = append(n.enqueuers, enqueuer)
	return err
}

// networkFault is over when it returns.
type networkFault struct {
	name string
	make func(context.Context) error
}

func (n *network) suffer(ctx context.Context) error {
	times := n.trial.scaled(3)
	if n.trial.long {
		times = 200
	}
	if err := n.goesOn(ctx); err != nil {
		return err
	}
	stranded := n.relay.strand()
	if len(stranded) == 0 {
		return errors.New("no process listens or holds a lock")
	}
	n.trial.count(0, len(stranded))
	faults := []networkFault{{"backends ended", n.terminate}, {"a crash of the server", n.crash}, {"a partition", n.part}}
	if n.cable != nil {
		faults = append(faults, networkFault{"a partition between networks", n.unplug})
	}
	if n.pooler != nil {
		faults = append(faults, networkFault{"a restart of the pooler", n.restartPooler})
	}
	for round := range times {
		for _, i := range n.trial.random.Perm(len(faults)) {
			if err := faults[i].make(ctx); err != nil {
				return fmt.Errorf("round %d, %s: %w", round, faults[i].name, err)
			}
			if err := n.recover(ctx, faults[i].name); err != nil {
				return fmt.Errorf("round %d, after %s: %w", round, faults[i].name, err)
			}
		}
	}
	err := until(ctx, "connections that were forgotten on the way are made anew", func() (bool, error) {
		for _, l := range stranded {
			if !l.hasLeft() {
				return false, n.busy()
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return n.end(ctx)
}

// slow is a recovery that deserves a message.
const slow = 3 * time.Second

// recover waits until each process continues, and records how long each worker took.
func (n *network) recover(ctx context.Context, fault string) error {
	began := time.Now()
	if err := n.goesOn(ctx); err != nil {
		return err
	}
	for _, p := range n.workers {
		events, err := p.events()
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.What == history.Start && e.Time().After(began) {
				took := e.Time().Sub(began)
				n.trial.pickups = append(n.trial.pickups, took)
				if took > slow {
					n.trial.say("%s ran its first job %s after %s", p.Name, took.Round(time.Millisecond), fault)
				}
				break
			}
		}
	}
	return nil
}

// terminate ends backends of the database, one after the other.
func (n *network) terminate(ctx context.Context) (err error) {
	pool, err := sql.Open("pgx", n.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	control := sqlfiles.Control("postgres")
	list, end := control("list_backends"), control("terminate_backend")
	for range n.trial.scaled(100) {
		var numbers string
		if err := pool.QueryRowContext(ctx, list).Scan(&numbers); err != nil {
			return err
		}
		if pids := strings.Fields(numbers); len(pids) > 0 {
			var ended bool
			if err := pool.QueryRowContext(ctx, end, pids[n.trial.random.IntN(len(pids))]).Scan(&ended); err != nil {
				return err
			}
			if ended {
				n.trial.count(0, 1)
			}
		}
		if err := n.busyFor(ctx, terminateEvery); err != nil {
			return err
		}
	}
	return nil
}

// crash stops the server at once, and starts it again.
func (n *network) crash(ctx context.Context) error {
	n.server.Stop(n.bench, "immediate")
	err := n.busyFor(ctx, time.Duration(n.trial.random.IntN(int(300*time.Millisecond))))
	if startErr := n.startAgain(); startErr != nil {
		return errors.Join(err, startErr)
	}
	n.trial.count(0, 1)
	return err
}

// startAgain starts the server where it was.
func (n *network) startAgain() error {
	start := func() error {
		n.server.Start(n.bench)
		return nil
	}
	if n.cable == nil {
		return start()
	}
	return n.cable.atNear(start)
}

// part holds back all traffic of some of the processes.
func (n *network) part(ctx context.Context) error {
	n.relay.part()
	err := n.busyFor(ctx, n.parted())
	n.relay.heal(n.trial.random.IntN(2) == 0)
	n.trial.count(0, 1)
	return err
}

// parted returns the time for which processes are cut off: every other time until their leases are over.
func (n *network) parted() time.Duration {
	pause := time.Duration(n.trial.random.IntN(int(diskLease / 2)))
	if n.trial.random.IntN(2) == 0 {
		pause += diskLease
	}
	return pause
}

// unplug parts the networks, in each of the possible ways.
func (n *network) unplug(ctx context.Context) error {
	for _, cut := range cuts() {
		err := cut.make(n.cable)
		if err == nil {
			err = n.busyFor(ctx, n.parted())
		}
		if err := errors.Join(err, cut.mend(n.cable)); err != nil {
			return fmt.Errorf("%s: %w", cut.name, err)
		}
		n.trial.count(0, 1)
		if err := n.recover(ctx, cut.name); err != nil {
			return fmt.Errorf("after %s: %w", cut.name, err)
		}
	}
	return nil
}

func (n *network) restartPooler(context.Context) error {
	n.pooler.Restart(n.bench)
	n.trial.count(0, 1)
	return nil
}
