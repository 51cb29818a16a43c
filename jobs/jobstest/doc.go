// Package jobstest tests handlers on a real queue: a SQLite file that belongs to one test, with a clock that the test advances.
//
//	q := jobstest.New(t)
//	out := jobstest.Run(t, q, charge, shop.charge, Order{ID: 7})
//	if out.Fate != jobs.FateDone { t.Error(out) }
//
// [Run] runs one attempt, [Queue.Drain] all jobs that are due, and [Queue.RunFor] those of the next hours or days. [RequireEnqueued] finds
// what code under test has enqueued. [Crash] kills a handler at each point of its way and says where a second attempt does not repair
// what the first one left behind.
//
// The package is for tests. Its functions stop the test by Fatal when the queue itself fails, so they must be called on the test's
// goroutine, unless they say otherwise. A [Queue] belongs to its test: parallel tests share nothing.
//
// # What obeys the clock
//
// The queue's clock stands until [Queue.Advance] moves it. These use it: due times, the delays of retries and snoozes, schedules, leases,
// the age of rows for retention, and all times in rows and lists.
//
// These use the process's clock, because they bound real work: the timeout of an attempt and the deadline of its context,
// [jobs.Config] Grace, StopTimeout and StuckAfter, the intervals at which a running [jobs.Runner] renews leases and prunes, and the
// durations in an observer's events and the history. So a test of less than a minute usually prunes nothing. time.Now in a handler is the
// process's clock too: give handlers [Queue.Now].
package jobstest
