// Package model is the queue in memory: the promises and the API in plain Go, without regard to cost. Its test does
// random sequences of steps on the model and on every engine, with one clock that it sets itself. After each step the
// answers and the visible state must be the same. A failing sequence is shrunk to a short one.
//
// A longer run, and one failure again:
//
//	go test ./internal/test/model -rapid.checks=2000 -rapid.steps=100 -timeout=1h
//	go test ./internal/test/model -run 'TestModel/EveryEngine$' -rapid.seed=NUMBER
//	go test ./internal/test/model -run 'TestModel/EveryEngine$' -rapid.failfile=testdata/rapid/...
//
// A failing test says which of the last two repeats the failure. The file holds the shrunk sequence, and runs first
// each time while it exists. Such files are not committed: a fault found by one gets a test in the conformance suite. A
// sequence that is still long becomes shorter with the seed and -rapid.shrinktime=10m.
package model
