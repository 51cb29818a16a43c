package callback

import (
	"context"
	"log/slog"
	"time"
)

// flushWithin is the longest time for which [Flush] waits for an observer, and then for a logger.
const flushWithin = 2 * time.Second

// Observer is the observer that Flush waits for: *jobtype.Observer, which may be nil.
type Observer interface {
	Flush(ctx context.Context) error
}

// Flush waits until an observer and then a logger have handled their earlier calls, up to two seconds for each. A
// slower one goes on by itself; a slow observer is logged, with the name of the part that does not wait for it.
func Flush(observer Observer, log *slog.Logger, part string) {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	if err := observer.Flush(ctx); err != nil {
		log.Warn("an observer takes too long: "+part+" does not wait for it any longer", "waited", flushWithin)
	}
	ctx, cancel = context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	_ = FlushLogger(ctx, log) // no log could report that the log is late
}
