// Package audit records who changed what: rows of sqluice_job_audit, written in the transaction that makes the change.
//
// A caller's name travels in the context (With). Of reads it from there once a call; an Author that is nil records nothing,
// so that callers need no condition. The package starts no transaction and does not read the rows: jobs/inspect does.
package audit
