package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/runner"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// VersionField is the field of a job's metadata that holds the version of its payload: see [Kind.Version].
const VersionField = jobtype.VersionField

// AnyVersion, as [Kind.Version], makes a handler take payloads of all versions: [Job.PayloadVersion] returns a payload's version.
const AnyVersion = runner.AnyVersion

// Kind is a type of job: its name in the database, the Go type of its payload, and what its jobs have in common.
// Only Name is needed; every zero value means the library's default. Kinds are values, usually package variables, and
// may be used concurrently.
type Kind[T any] struct {
	// Name is the value of the kind column.
	Name string

	// Aliases are names that the kind had before: a runner runs jobs of these too, with the same handler. They keep the old name, also
	// for unique keys and request ids, which belong to a name: while jobs of both names live, one of each may run with the same key, at
	// the same time.
	Aliases []string

	// Queue is the queue of its jobs; [DefaultQueue] when empty. A runner with a handler for the kind declares it: an enqueue by the kind's
	// name uses it as well, unless it names another. A runner that handles the kind and does not claim from this queue logs a warning when
	// it starts.
	Queue string

	// Priority is the priority of its jobs: higher runs first. It is declared as Queue is.
	Priority int

	// MaxAttempts is the number of attempts before a job fails; [DefaultMaxAttempts] when 0. A job's own number takes precedence. A
	// runner with a handler for the kind declares the number: it applies to all jobs of the kind without their own, however they were
	// enqueued, also to waiting ones. The declaration of the newest program with a live worker applies, or else the last one.
	MaxAttempts int

	// Timeout of one attempt; none when 0. A job's own timeout takes precedence.
	Timeout time.Duration

	// RetryDelay returns the delay before the next attempt of a job after one failed with err; [Job.Counted] returns the number
	// of attempts. It is called on the attempt's goroutine. [DefaultRetryDelay] when nil, and instead of a negative delay,
	// which is logged once. [FixedRetry], [ExponentialRetry] and [RetryAfter] make one.
	RetryDelay func(job Job, err error) time.Duration

	// Keep is the time for which its done jobs are kept, or [Forever], instead of [Config.Retention]; from a second to 100 years. The
	// database stores it as a rule, which all runners obey: that of the newest declaration of the kind by a live worker. So the rule
	// goes back when the newer workers are gone, and ends when the newest declares none. The last rule stays after the last program with
	// the kind is gone, because rules remove jobs. A rule set with SetRetention of package jobs/inspect for the kind takes precedence, and
	// RemoveRetention removes it.
	//
	// [Nothing] is no rule: each runner whose program has it removes a job in the transaction in which it is done, with its result,
	// whatever the rules are. The history counts removed jobs. [Client.Wait] for such a job returns [ErrNotFound], and its request id and
	// unique key are free again. Jobs that fail or are cancelled stay.
	Keep time.Duration

	// Limit bounds how many of its jobs run at once, and how many start in a time, in all processes together. Each key has that room for
	// itself. The zero value is no limit. A runner declares it, as it does MaxAttempts; a limit that [Client.SetLimit] has set goes before it.
	Limit Limit[T]

	// Version is the number of the payload's form: 0, or 1 and more once T was changed so that older payloads need an Upgrade. It is kept in
	// the job's metadata, as [VersionField], which then must be an object. A runner runs no job whose payload has a newer version than the
	// kind's, 0 included: it releases the job for a worker whose program knows that version, and the attempt does not count, as with
	// [Unable]. [AnyVersion] is for handlers that take all of them, and refused by enqueues.
	Version int

	// Upgrade returns the payload of an older version, which 0 is for jobs without one, in the form of Version. It is called before the
	// payload is decoded, on the attempt's goroutine. When it is nil, older payloads are decoded as they are. Its error is that of a
	// payload that cannot be decoded: the attempt counts, and is retried, perhaps by a newer program.
	Upgrade func(from int, payload json.RawMessage) (json.RawMessage, error)

	// Sensitive names the fields of its jobs that only the handler may see: [Redacted] stands in their place in what a [Client]
	// returns, and so in the HTTP API, on its pages, in the command's answers and in logs. "card.number" is the field number of
	// the field card of the payload, "items.token" or "items.*.token" the field token of each element of the list items,
	// "accounts.*.token" that of each member of the object accounts, whatever its name, and "*" the whole payload. The prefixes
	// "metadata:", "progress:" and "result:" name fields of those instead, as in "result:token". Letter case is ignored. A field
	// whose name contains a dot cannot be named: mark the object that holds it.
	//
	// The marks are kept in the database, so that other programs honour them. A runner adds them when it starts with a handler
	// for the kind, and an enqueue by the kind adds them too. Only UnmarkSensitive of package jobs/inspect removes them.
	//
	// Strings and numbers of these fields are also removed from the recorded errors, panics and stacks of attempts, and from the
	// runner's log: values of at least 4 bytes, as they are, quoted, or escaped as in a URL. Other forms of a value, such as a
	// part or a hash, are not found. Keys, user ids and tags are not covered: put no secret there.
	Sensitive []string
}

// Handler runs one attempt of a job. Its context ends when the attempt must: timeout, lost lease, cancelled job,
// stopping runner (context.Cause returns which). nil means done; [Snooze], [Unable], [Cancel], [Discard] and [RetryIn]
// mean other ends; any other error is a failed attempt that is retried while attempts are left. A panic and a
// runtime.Goexit are failed attempts too. Its goroutine runs other attempts afterwards: it must not stay locked to its
// thread.
type Handler[T any] func(ctx context.Context, job Job, args T) error

// Enqueue adds a job. See [Client.Enqueue] for the guarantee, and [EnqueueOption] for the options of one job.
func (k Kind[T]) Enqueue(ctx context.Context, c *Client, args T, opts ...EnqueueOption) (Receipt, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return Receipt{}, fmt.Errorf("enqueue %s: encode payload: %w", k.Name, err)
	}
	receipt, err := c.enqueueOne(ctx, k.enqueueOf(args, opts), data)
	if err != nil {
		return Receipt{}, fmt.Errorf("enqueue %s: %w", k.Name, err)
	}
	return receipt, nil
}

// EnqueueMany adds one job for each of args, in one transaction: all of them or none. It returns a receipt for each, in order. All
// payloads are encoded before the transaction begins, and are in memory together. See [Client.EnqueueMany] for very many.
func (k Kind[T]) EnqueueMany(ctx context.Context, c *Client, args []T, opts ...EnqueueOption) ([]Receipt, error) {
	e := k.enqueue(opts)
	if e.limitKey == nil && len(args) > 0 && k.Limit.isSet() {
		e.limitKey = func(i int) string { return k.Limit.key(args[i]) }
	}
	receipts, err := c.enqueueMany(ctx, e, len(args), func(i int) ([]byte, error) { return json.Marshal(args[i]) })
	if err != nil {
		return nil, fmt.Errorf("enqueue %d jobs of %s: %w", len(args), k.Name, err)
	}
	return receipts, nil
}

// Handle makes the runner claim jobs of this kind, by its name and its aliases, and run them with h. It must be called before Run, and
// panics when the runner has a handler for one of the names already, when one is empty, or after Run has begun.
func (k Kind[T]) Handle(r *Runner, h Handler[T]) {
	for _, name := range append([]string{k.Name}, k.Aliases...) {
		r.handle(handler{
			kind: name, queue: k.Queue, settings: k.settings(), retryDelay: k.RetryDelay, sensitive: k.Sensitive, keep: k.Keep,
			version: k.Version, limit: k.Limit.check(),
			declares: k.declares(name),
			run: func(ctx context.Context, job *Job) error {
				args := new(T)
				payload, err := k.upgraded(job)
				if err != nil {
					return err
				}
				if err := json.Unmarshal(payload, args); err != nil {
					return undecoded(err, *args, k.Sensitive)
				}
				return handle(ctx, h, job, args)
			},
		})
	}
}

// declares returns a program's declaration of the kind under one of its names, without the time for which its jobs are kept.
func (k Kind[T]) declares(name string) declare.Settings {
	s := declare.Settings{Version: k.Version}
	if k.enqueue(nil).check() == nil { // otherwise no job of it can be enqueued
		s.MaxAttempts, s.Queue, s.Priority = k.MaxAttempts, k.Queue, k.Priority
	}
	if k.Timeout > 0 {
		s.Timeout = max(1, k.Timeout.Microseconds())
	}
	s.Limit, s.Total = declaredLimit(k.Limit.values()), declaredLimit(k.Limit.Total)
	if name != k.Name {
		s.AliasOf = k.Name
	} else {
		s.Aliases = k.Aliases
	}
	return s
}

// upgraded returns the payload of a job in the form of the kind's version. The runner has released jobs with newer versions.
func (k *Kind[T]) upgraded(job *Job) (json.RawMessage, error) {
	if k.Version <= 0 || k.Upgrade == nil {
		return job.Payload, nil
	}
	from := job.PayloadVersion()
	if from >= k.Version {
		return job.Payload, nil
	}
	payload, err := k.Upgrade(from, job.Payload)
	if err != nil {
		return nil, runner.Undecoded(fmt.Errorf("upgrade payload from version %d to %d: %w", from, k.Version, discreet(err, len(k.Sensitive) > 0)))
	}
	return payload, nil
}

// handle holds the copies of the job on its own stack frame, on which no payload is decoded, and undecoded its error: package
// json recurses so deeply that the stack of each slot would take 8 KB instead of 4.
//
//go:noinline
func handle[T any](ctx context.Context, h Handler[T], job *Job, args *T) error {
	return h(ctx, *job, *args)
}

//go:noinline
func undecoded[T any](err error, args T, sensitive []string) error {
	return runner.Undecoded(fmt.Errorf("decode payload as %T: %w", args, discreet(err, len(sensitive) > 0)))
}

// settings returns the settings of the kind's jobs until the database knows the declarations of programs.
func (k Kind[T]) settings() jobrow.Settings {
	return jobrow.Settings{MaxAttempts: k.MaxAttempts, Timeout: k.Timeout}
}

// enqueue returns the kind's defaults with the options applied.
func (k Kind[T]) enqueue(opts []EnqueueOption) *enqueue {
	e := &enqueue{
		kind: k.Name, queue: cmp.Or(k.Queue, DefaultQueue), priority: new(k.Priority),
		sensitive: k.Sensitive, payloads: payloadSource{true, true}, version: k.Version,
	}
	e.kinds = kindDefaults{e.queue, k.settings()}
	for _, opt := range opts {
		opt(e)
	}
	return e
}

// enqueueOf is enqueue for a job with a payload, which has the limit key.
func (k Kind[T]) enqueueOf(args T, opts []EnqueueOption) *enqueue {
	e := k.enqueue(opts)
	if e.limitKey == nil && k.Limit.isSet() {
		key := k.Limit.key(args)
		e.limitKey = func(int) string { return key }
	}
	return e
}

// discreet returns an error of package json without the values that it quotes: errors are stored and shown, and a sensitive
// payload must stay in the database. Other errors come from the application's own types: they are kept unless sensitive is set.
func discreet(err error, sensitive bool) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("the field %s is not a %s", strconv.Quote(wrong.Field), wrong.Type)
	}
	if fault := (*json.SyntaxError)(nil); errors.As(err, &fault) {
		return fmt.Errorf("the payload is not valid JSON at byte %d", fault.Offset)
	}
	if !sensitive {
		return err
	}
	return errors.New("the payload does not match the type; the reason is hidden, because the kind has sensitive fields")
}
