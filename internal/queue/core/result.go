package core

import (
	"context"
	"fmt"
)

// Wrap returns err behind the name of the operation that failed, and nil for nil. Its arguments are evaluated either way: a call that runs
// for each job uses fmt.Errorf.
func Wrap(err error, operation string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(operation, args...), err)
}

// Result returns v, or the zero value and the wrapped error: see [Wrap].
func Result[T any](v T, err error, operation string, args ...any) (T, error) {
	if err == nil {
		return v, nil
	}
	return *new(T), Wrap(err, operation, args...)
}

// Value returns what fn returns when run calls it with a connection of type Q. run is a method such as Read or Write of a store.
func Value[Q, T any](
	ctx context.Context, run func(context.Context, func(context.Context, Q) error) error, fn func(context.Context, Q) (T, error),
) (value T, err error) {
	err = run(ctx, func(ctx context.Context, q Q) (err error) {
		value, err = fn(ctx, q)
		return err
	})
	return value, err
}

// Map calls f with each element of a list and returns the results in the same order.
func Map[T, R any](list []T, f func(T) R) []R {
	made := make([]R, len(list))
	for i, element := range list {
		made[i] = f(element)
	}
	return made
}
