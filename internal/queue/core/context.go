package core

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// EndOf returns the error of a context that has ended, and its cause.
func EndOf(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return errors.Join(ctx.Err(), cause)
	}
	return ctx.Err()
}

// EndFirst returns err with the end of ctx before it, if ctx has ended and err does not say so: the caller asked for no more
// time, whatever operation took too long.
func EndFirst(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w: %w", EndOf(ctx), err)
}

// AfterEnd is the time for which a commit or a rollback may continue after the end of the caller's context.
const AfterEnd = time.Second

// Linger returns a context with the values of ctx that ends AfterEnd after ctx, for operations that must not stop half-way.
// The caller must call cancel.
func Linger(ctx context.Context) (lingering context.Context, cancel context.CancelFunc) {
	lingering, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(AfterEnd)
		defer timer.Stop()
		select {
		case <-timer.C:
			end(EndOf(ctx))
		case <-lingering.Done():
		}
	})
	return lingering, func() {
		stop()
		end(nil)
	}
}
