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
	session  string // URL of the server itself, if the other leads to a pooler
	pooled   bool   // the application says that the URL leads to a pooler
	silent   bool
	poll     time.Duration
	logger   *slog.Logger
	observer *jobs.Observer
	faulty   []error
	silence  time.Duration    // longest time for a statement of the queue before its connection is given up
	rested   time.Duration    // idle time of a connection after which the first statement of a write must end within prompt
	prompt   time.Duration    // see rested
	asking   time.Duration    // longest time to ask for the outcome of a write whose connection broke during the commit
	confirm  time.Duration    // delay before a free lock is tried again and its worker counts as gone
	settling time.Duration    // time after losing its own lock in which a process judges no others
	local    func() time.Time // this machine's clock
	onCommit func()           // for tests: called between a transaction's last statement and its commit
}

// The defaults of [WithPoll], with notifications and without.
const (
	safetyPoll = time.Second
	busyPoll   = 200 * time.Millisecond
)

// WithSchema sets the schema of the queue's tables, whatever the search_path is. Without it the queue uses the schema of the
// search_path that has them, or else its first one, usually public; it refuses two that have them. Migrate creates the schema if it
// is missing.
func WithSchema(name string) Option {
	return func(o *options) {
		if err := checkSchemaName(name); err != nil {
			o.faulty = append(o.faulty, fmt.Errorf("schema %q must %w", name, err))
		}
		o.schema = name
	}
}

// BehindPooler says that the connections lead to a pooler that gives each transaction another server connection, such
// as PgBouncer in transaction mode. The queue then uses only what works there: it polls, does not listen for
// notifications, prepares no statements, and detects dead workers by leases alone. With [WithSession] it keeps
// notifications and locks. The queue also detects a pooler without this option, at the first use.
func BehindPooler() Option { return func(o *options) { o.pooled = true } }

// WithSession sets the URL of the server itself for the two connections that a process with workers keeps beside its
// pool: one listens, one holds the lock that shows that the worker lives. It is for pools that lead to a pooler.
func WithSession(url string) Option { return func(o *options) { o.session = url } }

// WithoutNotify makes enqueues send no notifications: other processes find new jobs by polling. PostgreSQL commits
// transactions with notifications one after the other, which matters from some thousands of enqueues a second on.
func WithoutNotify() Option { return func(o *options) { o.silent = true } }

// WithPoll sets the interval at which a listening process looks without being woken. The default is a second, or 200
// milliseconds where there are no notifications.
func WithPoll(every time.Duration) Option {
	return func(o *options) {
		if every < time.Millisecond || every > time.Minute {
			o.faulty = append(o.faulty, fmt.Errorf("poll %s must be from 1ms to 1m", every))
		}
		o.poll = every
	}
}

// WithLogger sets the logger of the engine's rare messages, such as a lost listening connection. The default is
// slog.Default. The engine calls the logger's handler in a separate goroutine.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithObserver adds an observer of the store and of the clients and runners that use it. It may be given several times.
func WithObserver(observer *jobs.Observer) Option {
	return func(o *options) { o.observer = jobs.Observers(o.observer, observer) }
}

// WithClock makes the store read this machine's time from a function, for tests in which a clock is wrong or is set. Leases
// and due times follow the server's clock all the same. Each call runs in its own goroutine. After a panic, runtime.Goexit or
// a second without an answer the store uses the system's time plus the last difference that it saw.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.local = callback.Clock(now) }
}

func newOptions(opts []Option) (options, error) {
	o := options{
		logger: slog.Default(), local: time.Now, silence: 30 * time.Second, asking: 30 * time.Second,
		rested: restedAfter, prompt: promptly,
		confirm:  250 * time.Millisecond, // a worker that only lost its connection takes the lock again much sooner
		settling: settling,
	}
	for _, opt := range opts {
		opt(&o)
	}
	o.logger = callback.Logger(o.logger)
	return o, errors.Join(o.faulty...)
}

// connectWithin is the longest time to make a connection unless the URL says connect_timeout: with a host that does not
// answer at all, a connect would otherwise take minutes.
const connectWithin = 10 * time.Second

const (
	// askEvery is the interval at which an idle connection is checked.
	askEvery = 10 * time.Second

	// answerWithin is the longest time for that check, and for making a new connection.
	answerWithin = 5 * time.Second

	// The bounds of the pause before a lost connection is replaced.
	reconnectFirst = 10 * time.Millisecond
	reconnectLast  = time.Second
)

const (
	// pingAfter is the idle time after which a connection of the pool is checked before its next use. pgx checks after a second,
	// one round trip for nearly every job of a service that adds jobs now and then. Statements on a lost connection are sent
	// again on another one, except a lone claim, whose runner looks again.
	pingAfter = askEvery

	// restedAfter is the idle time of a connection after which the first statement of a write has less time than other
	// statements: a network may have dropped the connection without notice.
	restedAfter = time.Second

	// promptly is the time of this first statement. It exceeds the transaction's lock_timeout: waiting for a lock is no silence.
	promptly = 8 * time.Second
)

// settling is the time after a start or crash of the server in which a free lock proves nothing about an earlier worker:
// each worker must connect anew, and tries at least every reconnectLast.
const settling = 3*time.Second + reconnectLast

// lastWord is the longest time for a hub's last notification, and for the last statement on an abandoned connection.
const lastWord = 500 * time.Millisecond

// parameters holds the URL parameters of the queue; all others are the server's.
var parameters = map[string]func(value string) (Option, error){
	"schema": func(value string) (Option, error) {
		if err := checkSchemaName(value); err != nil {
			return nil, err
		}
		return WithSchema(value), nil
	},
	"pgbouncer": flag(func(o *options, on bool) { o.pooled = on }),
	"session":   func(value string) (Option, error) { return WithSession(value), nil },
	"notify":    flag(func(o *options, on bool) { o.silent = !on }),
	"poll": func(value string) (Option, error) {
		every, err := time.ParseDuration(value)
		if err != nil || every < time.Millisecond || every > time.Minute {
			return nil, errors.New("be a duration from 1ms to 1m")
		}
		return WithPoll(every), nil
	},
}

// flag returns the parser of a parameter that is true or false.
func flag(set func(o *options, on bool)) func(string) (Option, error) {
	return func(value string) (Option, error) {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, errors.New("be true or false")
		}
		return func(o *options) { set(o, on) }, nil
	}
}

// splitURL splits the queue's parameters from a URL. Errors never show the URL, which may hold a password.
func splitURL(text string) (rest string, opts []Option, err error) {
	if text == "" {
		return "", nil, errors.New("the URL is empty; it must begin with postgres:// or postgresql://: check the variable that it comes from")
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
