// Package runner claims jobs and runs their handlers: one run is one worker. It consists of four objects, which hold each other as named
// fields:
//
//	loop      the producer: rests, looks, makes a plan and commits it
//	ledger    the running attempts, the ended ones, and the ones whose ends the database refused; it owns the mutex
//	slots     the slots of each queue, prefetch, hand-over
//	presence  the worker's row and its lock; the heartbeat renews it
//
// and of their helpers:
//
//	plan          the work of one cycle, as data; a turn is a plan with its results
//	cycle         gives a plan to the engine in one transaction; committer makes the cycles
//	source        further places that claimable jobs come from; step is a rule about claims: quarantine has them
//	look          knows which queues may have jobs to claim
//	completer     reports recorded ends: log, observer, durations
//	refusals      splits plans that the database refuses; refusedends does so for ends
//	executor      the goroutines that run attempts
//	attempt       one run of one job; execution calls its handler; decide derives its end; retry sets the time of the next attempt;
//	              verdict is the decision of a handler
//	heartbeat     renews leases, cancels attempts that were cancelled or lost, calls the rescuer; orphans are claims that no part of
//	              this process knows of
//	handover      an enqueue of this process that gives its job to an idle runner, by Registry
//
// No file uses one that uses it: run connects all, and config, attempt, plan and ledger stand at the bottom.
//
// The path of a job:
//
//	cycle.after -> executor.dispatch -> slots.admit -> executor.start -> execution.run -> Attempt.decide -> executor.finish
//	            -> ledger.settle -> loop.takeWork -> cycle.commit -> engine.Plan -> lifecycle.Settle -> completer.recorded
//
// Goroutines: only the loop's touches loop, lookout, refusals, committer, completer and cycle; only the heartbeat's touches heartbeat,
// orphans and, while it runs, presence except its id. Fields that others touch are in ledger and slots, under the ledger's mutex. env does
// not change during a run. Services of package maintenance run beside the loop.
//
// The package does not know package jobs, which decodes payloads, and wraps handlers in middleware.
package runner
