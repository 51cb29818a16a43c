package callback

import (
	"context"
	"log/slog"
	"time"
)

// flushWithin is how long [Flush] waits for an observer, and then for a logger.
const flushWithin = 2 * time.Second

// Observer is what Flush waits for: *jobtype.Observer, which may be nil.
type Observer interface {
	Flush(ctx context.Context) error
}

// Flush waits until an observer and then a logger have got what they were told before, up to two seconds for each. What
// takes longer goes on by itself; an observer that does is logged, with the name of the part that does not wait for it.
func Flush(observer Observer, log *slog.Logger, part string) {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	if err := observer.Flush(ctx); err != nil {
		log.Warn("an observer takes too long: "+part+" does not wait for it any longer", "waited", flushWithin)
	}
	ctx, cancel = context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	_ = FlushLogger(ctx, log) // there is nowhere to say that the log is late
}
