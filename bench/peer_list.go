package main

import (
	"context"
	"slices"
)

// peers returns the other systems, which only -peers measures. Each group is a function of a file peer_*.go.
func peers() []contender {
	return slices.Concat(rivers(), backlites(), goqites(), asynqs(), nodePeers())
}

// peerEngines returns the starters of the peers' engines, by name. A starter wraps errNoServer when its engine is not installed.
func peerEngines() map[string]func(context.Context) (engine, error) {
	return map[string]func(context.Context) (engine, error){onRedis: startRedis}
}
