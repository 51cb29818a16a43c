// Package labels bounds the labels of metrics: names that whoever may enqueue has chosen.
package labels

import (
	"strings"
	"sync"
)

const (
	// Most is how many pairs of a queue and a kind are told apart: each has series of its own, in package metrics some sixty.
	Most = 500

	// Other stands for all that come after them.
	Other = "_other"
)

// Names are the pairs of a queue and a kind that have series of their own. The zero value knows none. Methods are safe for
// concurrent use.
type Names struct {
	mu    sync.RWMutex
	known map[[2]string][2]string // the pair as it is, and as a label takes it
}

// Of gives the values of the labels.
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
	// A row that another program wrote may have a name that is no text, which no label can be.
	label := [2]string{strings.ToValidUTF8(pair[0], "\uFFFD"), strings.ToValidUTF8(pair[1], "\uFFFD")}
	if n.known == nil {
		n.known = map[[2]string][2]string{}
	}
	n.known[[2]string{strings.Clone(pair[0]), strings.Clone(pair[1])}] = label
	return label
}
