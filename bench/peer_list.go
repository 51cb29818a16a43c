package main

import (
	"context"
	"slices"
)

// peers are the other systems, which only -peers measures. Each group is a function of a file peer_*.go.
func peers() []contender {
	return slices.Concat(rivers(), backlites(), asynqs(), nodePeers())
}

// peerEngines start the engines that peers bring along, by name. A starter wraps errNoServer when there is none.
func peerEngines() map[string]func(context.Context) (engine, error) {
	return map[string]func(context.Context) (engine, error){onRedis: startRedis}
}
