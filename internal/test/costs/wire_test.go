package costs

import (
	"context"
	"net"
	"sync/atomic"
)

// wire is a connection that counts round trips: how often a write follows a read.
type wire struct {
	net.Conn
	trips *atomic.Int64
	heard atomic.Bool
}

func dialCounting(trips *atomic.Int64) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w := &wire{Conn: conn, trips: trips}
		w.heard.Store(true)
		return w, nil
	}
}

func (w *wire) Write(p []byte) (int, error) {
	if w.heard.Swap(false) {
		w.trips.Add(1)
	}
	return w.Conn.Write(p)
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.heard.Store(true)
	}
	return n, err
}
