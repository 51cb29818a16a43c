// Package runner claims jobs and runs their handlers: one Run is one worker. Its parts, each in a file of its name:
//
//	producer      the loop: records what has ended, promotes what is due, claims for free slots, rests
//	  policy      decisions of the loop without a statement: batchsize, gather; package contention
//	  look        reads whether there is anything to claim, before a cycle takes the write lock
//	  cycle       the loop's one transaction: ends of attempts, promotion, claim; claimsOnly, for a simple one
//	  step        the rules of the cycle: promotion of what is due, batchsize, quarantine (suspicion, last chance), risk
//	slots         the places of one queue, and prefetch: jobs that were claimed before a place is free
//	executor      the goroutines that run attempts
//	attempt       one run of one job; execution calls its handler; judge says what its end means; retry says when the next
//	              attempt comes; verdict is how a handler says it
//	completer     what follows when a cycle has recorded ends of attempts by lifecycle.Finish: log, observer, durations
//	registration  the worker's row and its lock
//	heartbeat     renews leases, cancels attempts that were cancelled or lost, calls the rescuer; orphans are claims that
//	              no part of this process knows of
//	handover      an enqueue of this process that gives its job to an idle runner, by Registry
//
// A job's way:
//
//	cycle.claimFrom -> executor.dispatch -> slots.add -> executor.start -> executor.run -> execution.run -> Attempt.judge
//	                -> state.settle -> producer.take -> cycle.commit -> lifecycle.Finish -> completer.recorded
//
// Parts share env, which does not change during a run, and state, whose mutex guards all that does. Services of package
// maintenance run beside the loop.
//
// The package does not know package jobs, which decodes payloads, and wraps handlers in middleware.
package runner
