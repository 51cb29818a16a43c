// Package inspect lists, counts and explains jobs, and changes many of them at once. It is for pages, commands, monitors and
// scripts; package jobs is for an application's own code.
//
// An [Inspector] belongs to a client and shows the same fields:
//
//	inspector := inspect.New(client)                // redacted: see jobs.Kind.Sensitive
//	inspector := inspect.New(client.Revealed())     // with sensitive fields
//	inspector := inspect.New(client.With(tx))       // inside the caller's transaction
//
// Its reads use separate connections, so that no number of them delays a runner. Its changes are recorded in the audit
// log when their context has an actor: see [jobs.WithActor] and [Inspector.Audit].
//
// The files by subject: list and search (jobs by a filter), failed (the report of failures), attempts and attempt_page (a job's
// attempts), counts, lanes and history (sums), snapshot, stats, why and why_schedule (what waits, what works, and why a job does not run or a
// schedule enqueues none), schedules (list and ticks), many, retryfailed, prune and rescue (changes), rekey and forget (changes of
// jobs' data), retention (how long ended jobs are kept), sensitive (marks of fields), limitkeys (what waits for a limit), audit (who
// changed what).
package inspect
