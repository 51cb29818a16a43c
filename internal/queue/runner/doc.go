// Package runner claims jobs and runs their handlers: one run is one worker. It consists of four objects, which hold each other as named
// fields:
//
//	loop      the producer: rests, looks, makes a plan and commits it
//	ledger    the running attempts, the ended ones, and the ones whose ends the database refused; it owns the mutex
//	slots     the places of each queue, prefetch, hand-over
//	presence  the worker's row and its lock; the heartbeat renews it
//
// and of what works for them:
//
//	plan          what one cycle is to do, as data; cycle carries it out in one transaction
//	step          the rules of a cycle: promotion, batchsize, quarantine
//	completer     the ends of attempts, by lifecycle.Finish: log, observer, durations
//	refusals      splits what the database refuses; refusedends does so for ends
//	executor      the goroutines that run attempts
//	attempt       one run of one job; execution calls its handler; judge says what its end means; retry says when the next attempt comes;
//	              verdict is how a handler says it
//	heartbeat     renews leases, cancels attempts that were cancelled or lost, calls the rescuer; orphans are claims that no part of
//	              this process knows of
//	handover      an enqueue of this process that gives its job to an idle runner, by Registry
//
// A job's way:
//
//	cycle.claimFrom -> executor.dispatch -> slots.admit -> executor.start -> execution.run -> Attempt.judge -> executor.finish
//	                -> ledger.settle -> loop.takeWork -> cycle.commit -> lifecycle.Finish -> completer.recorded
//
// Goroutines: the loop's alone touches loop, refusals, completer and cycle; the heartbeat's alone touches heartbeat, orphans and, while it
// runs, presence but for its id. What others touch is in ledger and slots, under the ledger's mutex. env does not change during a run.
// Services of package maintenance run beside the loop.
//
// The package does not know package jobs, which decodes payloads, and wraps handlers in middleware.
package runner
