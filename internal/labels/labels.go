// Package labels bounds the labels of metrics. Their names are chosen by any program that may enqueue.
package labels

import (
	"strings"
	"sync"

	"github.com/sqluice/sqluice/internal/printable"
)

const (
	// Most is the number of distinct pairs of a queue and a kind: each has separate series, in package metrics some
	// sixty.
	Most = 500

	// Other stands for all later pairs.
	Other = "_other"
)

// Names holds the pairs of a queue and a kind with separate series. The zero value holds none. Methods are safe for
// concurrent use.
type Names struct {
	mu    sync.RWMutex
	known map[[2]string][2]string // the pair unchanged, and in the form of a label
}

// Of returns the values of the labels.
func (n *Names) Of(queue, kind string) (string, string) {
	pair := [2]string{queue, kind}
	n.mu.RLock()
	label, ok := n.known[pair]
	n.mu.RUnlock()
	if !ok {
		label = n.learn(pair)
	}
	return label[0], label[1]
}

func (n *Names) learn(pair [2]string) [2]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if label, ok := n.known[pair]; ok {
		return label
	}
	if len(n.known) >= Most {
		return [2]string{Other, Other}
	}
	// A row of another program may have a name that is no text, which no label can be, or one with control characters.
	label := [2]string{printable.Line(pair[0]), printable.Line(pair[1])}
	if n.known == nil {
		n.known = map[[2]string][2]string{}
	}
	n.known[[2]string{strings.Clone(pair[0]), strings.Clone(pair[1])}] = label
	return label
}
