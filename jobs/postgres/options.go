package postgres

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/jobs"
)

// Option changes how the queue uses the database.
type Option func(*options)

type options struct {
	schema   string
	session  string // URL of the server itself, when the other leads to a pooler
	pooled   bool   // the application said that the URL leads to a pooler
	silent   bool
	poll     time.Duration
	logger   *slog.Logger
	observer *jobs.Observer
	faulty   []error
	silence  time.Duration    // how long one statement of the queue may take before the connection is given up
	rested   time.Duration    // for how long a connection was not used on which the first statement of a write may take only so long:
	prompt   time.Duration    // this
	asking   time.Duration    // how long a write whose connection broke during the commit asks the server about it
	confirm  time.Duration    // when a lock that was found free is looked at again before its worker counts as gone
	settling time.Duration    // how long a process that missed its own lock judges no other's
	local    func() time.Time // this machine's clock
	onCommit func()           // for tests: called between a transaction's last statement and its commit
}

// The default of [WithPoll], with notifications and without.
const (
	safetyPoll = time.Second
	busyPoll   = 200 * time.Millisecond
)

// WithSchema puts the queue's tables in a schema of this name, whatever the search_path is. Without it they are in the schema of
// the search_path that has them, or else in its first one, which is public as a rule; two that have them are refused. Migrate makes
// the schema when it is not there.
func WithSchema(name string) Option {
	return func(o *options) {
		if err := checkSchemaName(name); err != nil {
			o.faulty = append(o.faulty, fmt.Errorf("schema %q must %w", name, err))
		}
		o.schema = name
	}
}

// BehindPooler says that the connections lead to a pooler that gives each transaction another server connection, such
// as PgBouncer in transaction mode. The queue then keeps to what works there: it polls, sends no notifications of its
// own accord to listen to, prepares no statements, and tells by leases alone that a worker is gone. With [WithSession]
// it keeps notifications and locks. A pooler is also noticed without this option, at the first use.
func BehindPooler() Option { return func(o *options) { o.pooled = true } }

// WithSession names the server itself, by a URL, for the two connections that a process with workers keeps beside its
// pool: one listens, one holds the lock that shows that the worker lives. It is for pools that lead to a pooler.
func WithSession(url string) Option { return func(o *options) { o.session = url } }

// WithoutNotify makes enqueues send no notifications: other processes find new jobs by polling. PostgreSQL lets transactions
// with a notification commit only one after the other, which matters from some thousands of enqueues a second on.
func WithoutNotify() Option { return func(o *options) { o.silent = true } }

// WithPoll sets how often a listening process looks without having been woken: every second without it, or every 200
// milliseconds where there are no notifications.
func WithPoll(every time.Duration) Option {
	return func(o *options) {
		if every < time.Millisecond || every > time.Minute {
			o.faulty = append(o.faulty, fmt.Errorf("poll %s must be from 1ms to 1m", every))
		}
		o.poll = every
	}
}

// WithLogger takes the engine's rare messages, such as a listening connection that is lost; they go to slog.Default
// without it. A goroutine of its own gives them to the logger's handler.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithObserver has the store, and the clients and runners that use it, tell what they do. It may be given several times.
func WithObserver(observer *jobs.Observer) Option {
	return func(o *options) { o.observer = jobs.Observers(o.observer, observer) }
}

// WithClock has the store take this machine's time from a function, for tests in which a clock is wrong or is set. Leases and
// due times go by the server's clock all the same. Each call has a goroutine of its own. After a panic, runtime.Goexit or a
// second without an answer the store takes the system's time plus the difference that it saw last.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.local = callback.Clock(now) }
}

func newOptions(opts []Option) (options, error) {
	o := options{
		logger: slog.Default(), local: time.Now, silence: 30 * time.Second, asking: 30 * time.Second,
		rested: restedAfter, prompt: promptly,
		confirm:  250 * time.Millisecond, // a worker that has only lost its connection takes the lock again much sooner
		settling: settling,
	}
	for _, opt := range opts {
		opt(&o)
	}
	o.logger = callback.Logger(o.logger)
	return o, errors.Join(o.faulty...)
}

// parameters of the URL that are the queue's, not the server's.
var parameters = map[string]func(value string) (Option, error){
	"schema": func(value string) (Option, error) {
		if err := checkSchemaName(value); err != nil {
			return nil, err
		}
		return WithSchema(value), nil
	},
	"pgbouncer": flagParameter(BehindPooler),
	"session":   func(value string) (Option, error) { return WithSession(value), nil },
	"notify": func(value string) (Option, error) {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, errors.New("be true or false")
		}
		return func(o *options) { o.silent = !on }, nil
	},
	"poll": func(value string) (Option, error) {
		every, err := time.ParseDuration(value)
		if err != nil || every < time.Millisecond || every > time.Minute {
			return nil, errors.New("be a duration from 1ms to 1m")
		}
		return WithPoll(every), nil
	},
}

func flagParameter(option func() Option) func(string) (Option, error) {
	return func(value string) (Option, error) {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, errors.New("be true or false")
		}
		if !on {
			return func(*options) {}, nil
		}
		return option(), nil
	}
}

// splitURL takes the queue's parameters out of a URL. Errors never show the URL, which may hold a password.
func splitURL(text string) (rest string, opts []Option, err error) {
	if text == "" {
		return "", nil, errors.New("the URL is empty; it must begin with postgres:// or postgresql://: is the variable set that it comes from?")
	}
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		return "", nil, errors.New("the URL must begin with postgres:// or postgresql://")
	}
	base, query, found := strings.Cut(text, "?")
	if strings.Count(base, "@") > 1 {
		return "", nil, errors.New("the URL must have one @ before its parameters: write those of a password as %40")
	}
	if !found {
		return text, nil, nil
	}
	query, fragment, _ := strings.Cut(query, "#")
	if fragment != "" {
		return "", nil, errors.New("the URL must have no fragment: write # as %23")
	}
	var kept []string
	for _, pair := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		parse, ours := parameters[name]
		if !ours {
			kept = append(kept, pair)
			continue
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return "", nil, fmt.Errorf("the URL's parameter %s is not well escaped", name)
		}
		opt, err := parse(value)
		if err != nil {
			return "", nil, fmt.Errorf("the URL's parameter %s=%s must %w", name, value, err)
		}
		opts = append(opts, opt)
	}
	if len(kept) > 0 {
		base += "?" + strings.Join(kept, "&")
	}
	return base, opts, nil
}
