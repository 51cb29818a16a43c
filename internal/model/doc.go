// Package model is the queue in memory: what the promises and the API say, in plain Go, with no thought of cost. Its
// test does random sequences of steps on the model and on every engine, by one clock that it sets itself, and wants the
// same answers and the same visible state after each step. A sequence that ends otherwise is shrunk to a short one.
//
// A longer run, and one failure again:
//
//	go test ./internal/model -rapid.checks=2000 -rapid.steps=100 -timeout=1h
//	go test ./internal/model -run 'TestModel/EveryEngine$' -rapid.seed=NUMBER
//	go test ./internal/model -run 'TestModel/EveryEngine$' -rapid.failfile=testdata/rapid/...
//
// A failing test says which of the last two gives the same failure; the file holds the sequence as it was shrunk, and
// runs first each time for as long as it is there. Such files are not committed: what one has found gets a test of its
// own in the conformance suite. A sequence that is still long becomes shorter with the seed and -rapid.shrinktime=10m.
package model
