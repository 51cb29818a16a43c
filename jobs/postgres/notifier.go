package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/outage"
)

// notifyEvery is the shortest time between two notifications sent after commits, such as those of retries. Enqueues send
// theirs within their transactions.
const notifyEvery = 5 * time.Millisecond

// notification returns the payload of a NOTIFY: the sender's token, the signals as a number, and the queue with work if nothing
// else changed. Any other payload, such as that of a bare NOTIFY by a person or a program, wakes all listeners for work.
func notification(token string, signals core.Signal, queue string) string {
	return fmt.Sprintf("%s/%d/%s", token, signals, queue)
}

// notifier notifies other processes of work that is ready after commits. Inserts do so within their transactions: see [transaction.end] and
// [transactions.AnnounceCommit].
type notifier struct {
	conns *connections
	text  string // payload of its notifications

	mu      sync.Mutex
	pending bool // other processes were not yet notified of ready work
	sending bool // a goroutine sends notifications while any is pending
}

// soon makes a notification pending, and calls start to run sendPending unless it is running.
func (n *notifier) soon(start func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pending = true; !n.sending {
		n.sending = true
		start()
	}
}

// sendPending sends notifications, at most one in notifyEvery, until none is pending or ctx ends.
func (n *notifier) sendPending(ctx context.Context) {
	for n.take(ctx.Err() != nil) {
		if n.send(ctx) != nil && ctx.Err() != nil {
			n.mu.Lock()
			n.pending = true // close sends it
			n.mu.Unlock()
		} // other processes find out by polling
		outage.Sleep(ctx, notifyEvery)
	}
}

// take reports whether a notification is pending, which the caller then sends. It returns false after the end.
func (n *notifier) take(ended bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.pending || ended {
		n.sending = false
		return false
	}
	n.pending = false
	return true
}

// send tells other processes that work is ready. It only makes them look sooner, so its error is only logged.
func (n *notifier) send(ctx context.Context) error {
	err := n.conns.rerun(ctx, func() error { // sending it twice does no harm
		return inTime(ctx, func(ctx context.Context) error {
			_, err := n.conns.pool.Exec(ctx, control("announce"), once(n.conns.names.channel(), n.text)...)
			return err
		})
	})
	if err != nil && ctx.Err() == nil {
		n.conns.options.logger.Debug("a notification could not be sent: others will find out by polling", "error", err)
	}
	return err
}

// close sends the last pending notification, for example after a stop that released jobs.
func (n *notifier) close() {
	n.mu.Lock()
	pending := n.pending
	n.mu.Unlock()
	if pending {
		ctx, cancel := context.WithTimeout(context.Background(), lastWord)
		defer cancel()
		_ = n.send(ctx)
	}
}
