package callback

import "time"

// Within calls fn on a goroutine of its own and returns its value. ok is false when fn panicked, called runtime.Goexit
// or took longer than d; the goroutine ends when fn does.
func Within[T any](d time.Duration, fn func() T) (value T, ok bool) {
	answer := make(chan T, 1)
	go func() {
		defer close(answer)
		defer func() { _ = recover() }() // the caller goes on without the value
		answer <- fn()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case value, ok = <-answer:
		return value, ok
	case <-timer.C:
		return value, false
	}
}
