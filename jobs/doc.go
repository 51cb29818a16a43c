/*
Package jobs is a durable job queue in the database that a service already has: a SQLite file, or PostgreSQL when one
machine is not enough. Any number of processes share one queue.

# A first program

A [Kind] names a type of job and the Go type of its payload. A [Client] enqueues. A [Runner] claims jobs and runs them.

	type Greeting struct{ Name string }

	var Greet = jobs.Kind[Greeting]{Name: "greet", MaxAttempts: 5}

	store, err := sqlite.Open(ctx, "jobs.db") // or postgres.Open(ctx, url)
	client := jobs.New(store)
	_, err = client.Migrate(ctx)

	receipt, err := Greet.Enqueue(ctx, client, Greeting{Name: "Ada"})

	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{"default": 4}})
	Greet.Handle(runner, func(ctx context.Context, job jobs.Job, args Greeting) error {
		fmt.Println("Hello,", args.Name)
		return nil
	})
	err = runner.Run(ctx) // until ctx ends

The package names no engine: a program imports jobs/sqlite or jobs/postgres and links that driver only. Everything else is
the same on both, and the same tests hold both.

# Promises

  - An acknowledged enqueue is never lost, whatever process is killed at whatever instant.
  - Each attempt has one holder. Every later write of that holder names the job, the attempt and the worker; after a loss it
    gets [ErrLeaseLost].
  - A job runs at least once. Its effects happen exactly once when the handler commits its own work and the end of the job in
    one transaction: see [CompleteTx].
  - A worker whose process dies is noticed in about a second. Jobs of living workers are left alone.
  - One process wins a job and a unique key, however many compete.
  - Jobs of a queue run by [Priority], then by due time, then by id. On PostgreSQL a job whose transaction commits late behind a
    backlog may follow newer jobs of its priority for about a second.

SQLite with the default durability may lose the last commits at a power loss; docs/reliability.md has the details.

# Kinds

A kind's name is what its jobs carry in the database. To rename a kind, keep its old name in [Kind.Aliases]; otherwise its old
jobs have no handler. Payloads are JSON.
A runner claims only kinds that it has a handler for; jobs of other kinds stay pending.

# Queues

A queue is a name. [Config.Queues] says from which queues a runner takes jobs, and how many of each run at once;
[Runner.SetQueue] changes that while it runs. A queue
exists as soon as a job names it. [Client.PauseQueue] stops claims from a queue in all processes,
[Client.PauseKind] those of one kind.

# Retries

A handler that returns an error, panics or exceeds its timeout has failed its attempt. The job runs again after
[Kind.RetryDelay], by default [DefaultRetryDelay], until its attempts are used up. Then it is failed, and kept until a person
retries or deletes it. A handler can return [Snooze], [SnoozeBecause], [RetryIn], [Discard] or [Cancel] instead. A payload that the handler's type
cannot hold fails the attempt in the same way: during a rolling deploy another worker may have the right type.

# Uniqueness

With [Unique] an enqueue finds the live job of the same kind and key instead of adding one. [UniqueReplace] also gives a job that
does not run the new payload, [UniqueAgain] adds one job behind a running one, [UniqueReplaceRunning] asks that one to end as well,
[Debounce] delays the job until a burst of enqueues has ended, and [UniqueFor] adds no job for a period. With [RequestID] an enqueue finds any job that is still kept, so
that a request that is sent twice adds one job.

# Schedules

A [Schedule] enqueues jobs by the clock, one for each tick among any number of workers. [Kind.Cron] and [Kind.Every] make one.
[Runner.Schedule] declares those of a program, [Client.PutSchedule] adds one to a running system.

# Transactions

[Client.With] returns a client whose enqueues and reads are part of the caller's transaction: sqlite.Tx, postgres.Tx and
postgres.SQLTx make it known. [Client.Tx] begins a transaction for a program that has none. In a handler, [CompleteTx] ends
the job in the transaction of the handler's own writes.

# Cancellation

[Client.Cancel] ends a job that has not started, and asks the worker of one that runs. The context of a handler ends when its
attempt must; context.Cause says why: [ErrTimeout], [ErrCancelRequested], [ErrLeaseLost] or [ErrStopping]. A handler that
ignores its context keeps its slot and is reported after [Config.StuckAfter].

# Deadlines

Every method that takes a context returns soon after that ends, also while the database is locked or its server is away. The
error is then the context's, for errors.Is. Nothing was written, unless it is [ErrUnknownOutcome] too: the context ended during
the commit, which goes on for at most a second. On SQLite, what has begun to write is finished first.

# Shutdown

When the context of [Runner.Run] ends, the runner stops claiming, lets handlers finish for [Config.Grace], then ends their
contexts and gives unfinished jobs back without costing them an attempt. It ends at most [Config.StopTimeout] later, whatever the
database does.

# Testing

Package jobs/jobstest runs handlers in a test, on a database of its own and by a clock that the test advances. It also crashes them at each
step that they may leave half done. docs/testing.md begins with an example.

# Inspection

A [Client] has what an application's own code calls. Lists, counts, history, failed reports and changes of many jobs are for
the people who look after the queue: package jobs/inspect has them; the command sqluice and package admin show them.

# Observation

An [Observer], given to the engine with its option WithObserver, is told what a process does. Middleware
([WithMiddleware], [Config.Middleware]) wraps enqueues and handlers. docs/callbacks.md says when each function of a program is
called, and what happens when it panics or blocks.
*/
package jobs
